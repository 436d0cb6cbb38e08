"""Reports on a release: for the owner of the rows, sealed and not private; for analysts, with noise; and the released figures.

In reading order, each part after those that it imports:

* `errors`: errors of reports.
* `columns`: rows as codes, with names, labels and distances.
* `shares`: distances between distributions of two coded tables.
* `association`: strength of association between columns.
* `halves`: a private table in two halves, one attacked, one for reference.
* `attacks`: attacks on training records, each with its reference.
* `learning`: train on synthetic, test on real.
* `owner_contents`: the figures of an owner report on rows.
* `image_contents`: the figures of an owner report on images.
* `owner_summary`: an owner report in a few sentences.
* `page`: templates and plots that all reports share.
* `learning_findings`: the scores of classifiers in sentences.
* `owner_findings`: the findings of an owner report in sentences.
* `owner_page`: an owner report on rows as one HTML file.
* `image_page`: an owner report on images as one HTML file.
* `owner_files`: sealed storage of owner reports.
* `owner_orders`: owner reports from the order to the end of a claim.
* `release_page`: the released figures as one HTML file.
* `utility_text`: the sentences of a utility report.
* `utility_form`: the form of a utility report.
* `utility`: a utility report as a signed document.
"""
