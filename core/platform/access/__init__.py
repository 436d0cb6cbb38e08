"""Authentication and authorisation: keys, sessions, roles.

In reading order, each file after those that it imports:

* `errors`: keys, sessions and tokens that are refused.
* `scopes`: limits of a key.
* `roles`: roles of principals.
* `visibility`: the datasets that a principal sees.
* `repository`: all SQL.
* `names`: names of people, beside their ids.
* `keys`: the form of API keys, and the digest that is stored.
* `pepper`: the secret of the digests.
* `throttle`: failed logins slow down.
* `directory`: keys are issued, authenticated, rotated, revoked.
* `recent`: keys and sessions that were authenticated a moment ago.
* `last_use`: when keys and sessions were used last.
* `enrolments`: people are invited and accept.
* `sessions`: sessions of browsers.
* `sign_in_links`: links that sign in once.
"""
