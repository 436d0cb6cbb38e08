"""The dashboard: pages that call operations of the API in the visitor's name and decide nothing themselves.

In reading order, each file after those that it imports:

* `errors`: what only pages refuse.
* `assets`: styles and scripts.
* `multipart`: forms with a file.
* `forms`: fields of forms.
* `visit`: the person behind a request, and the operations that a page calls.
* `rendering`: templates.
* `long_lists`: long answers, a page at a time.
* `sign_in_pages`: signing in with a key, and out.
* `link_pages`: signing in with a link.
* `provider_pages`: signing in with an account.
* `error_pages`: errors as pages.
* `overview`: the budget board.
* `draft_editing`: the parts of a draft as fields.
* `declaring_pages`: declaring a dataset.
* `plain_upload`: sending rows without JavaScript.
* `decisions`: cap, freeze, members, requests.
* `dataset_pages`: one dataset.
* `ledger_file`: the ledger as CSV.
* `grant_pages`: grants.
* `order_form`: the fields of an order.
* `job_pages`: ordering and following jobs.
* `federation_pages`: jobs of several owners.
* `release_drawing`: synthetic columns and images as pictures.
* `release_pictures`: pictures, drawn once.
* `owner_report_pages`: reports that only the owner sees.
* `utility_report_pages`: utility reports.
* `release_pages`: releases.
* `notification_pages`: addresses of notifications.
* `people_pages`: people.
* `system_pages`: keys, workers, health, audit log.
* `documentation`: help.
* `pages`: all pages.
"""
