"""Publishing: from a private table to a folder with synthetic rows, the generator and its certificate.

In reading order, each file after those that it imports:

* `order`: an order, its outcome, and the screen that shows progress.
* `intake`: the rows are sent; refused rows are reported by place and kind.
* `grant_requests`: an open grant is used, or budget is asked for and approved.
* `publish`: all steps, each of which may be taken again.
"""
