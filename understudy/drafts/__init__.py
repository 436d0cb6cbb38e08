"""Drafting a domain on the owner's machine: from raw cells to a domain that a person has confirmed.

`tables` is the whole of a draft in outline. In reading order, each file after those that it imports:

* `date_forms`: texts that are dates or times, and in which form.
* `facts`: what the cells of each column hold, in constant memory.
* `row_sample`: some rows of the table, for what one column alone does not show.
* `countries`: the public code book of ISO 3166-1.
* `code_forms`: ICD codes, postcodes and FIPS codes, and public books of what they are shortened to.
* `words`: what names and words of columns mean: a person, a code, an outcome, levels with an order.
* `bin_costs`: what bounds, bins and special values do to a column, by simulation.
* `bounds`: bounds and bins of numbers and times.
* `numbers`: amounts, codes, times of the clock, and values of a natural scale.
* `frame_words`: advice in the words of pandas, polars or pyarrow.
* `categories`: truth values, levels, categories, and texts that are left out.
* `times`: formats, bounds and patterns of dates and times.
* `frame_types`: what the types of a frame say beyond its values.
* `words_among_numbers`: whether words beside numbers mean "missing", or are levels, codes or dates like these.
* `differences`: columns close together: the second becomes its distance from the first.
* `sums`: columns that follow from two others.
* `signs`: words that tell the sign of a number.
* `dependency_search`: copies and functional dependencies, found in one pass.
* `dependencies`: copies are left out, and functional dependencies become rules.
* `orders`: numbers that are never below others.
* `missing_together`: columns that are missing in the same rows.
* `calendar_copies`: columns that follow from a date are left out.
* `code_counts`: how many codes the columns of a draft have.
* `units`: the privacy unit, and columns that say whose row it is.
* `hints`: warnings, and what only a person can know.
* `written_numbers`: numbers and times written as text, such as "$1,234.50".
* `tables`: the draft of a table.
* `images`: the draft of images.
* `marked_values`: values taken from the rows, accepted one by one or by kind.
* `changes`: giving a marked value another one.
* `confirmation`: accepting or editing every marked value in a terminal.
* `display`: a draft as a person reads it in Python.
"""
