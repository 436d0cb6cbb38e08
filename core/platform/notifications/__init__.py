"""Notifications: events of the outbox, sent to webhooks and e-mail addresses.

In reading order, each part after those that it imports:

* `errors`: errors of notifications.
* `details`: the sealed address and secrets of an endpoint.
* `messages`: the kinds of messages; never a name, an amount or a reason.
* `addresses`: allowed destinations of webhooks.
* `attempts`: the schedule of retries.
* `repository`: all SQL.
* `webhook`: one POST to a checked address.
* `mail`: plain text over a secured connection.
* `registering`: endpoints managed by their principals.
* `dispatch`: deliveries created, claimed, sent and recorded.
"""
