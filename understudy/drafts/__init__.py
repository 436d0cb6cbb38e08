"""Drafting a domain on the owner's machine: from raw cells to a domain that a person has confirmed.

`tables` outlines a whole draft. Reading order, each file after those that it imports:

* `date_forms`: dates and times written as text, and their forms.
* `facts`: statistics of the cells of each column, in constant memory.
* `row_sample`: a sample of the rows, for comparing columns.
* `countries`: the public code book of ISO 3166-1.
* `code_forms`: ICD codes, postcodes and FIPS codes, and public books of shortened codes.
* `words`: the meaning of column names and words: keys, codes, outcomes.
* `levels`: words in order: bands, scales, numbered steps.
* `persons`: column names and words about persons: keys, e-mail addresses, telephone numbers, names.
* `bin_costs`: the effect of bounds, bins and special values on a column, by simulation.
* `bounds`: bounds and bins of numbers and times.
* `numbers`: amounts, clock times, years and natural scales.
* `number_codes`: numbers that are codes.
* `frame_words`: advice as lines of pandas, polars or pyarrow.
* `categories`: truth values, levels, categories, and texts left out.
* `times`: formats, bounds and patterns of dates and times.
* `frame_types`: information in a frame's types beyond its values.
* `words_among_numbers`: words beside numbers: missing values, levels, codes or dates.
* `differences`: close columns; the second is modelled as its difference from the first.
* `sums`: columns computed from two others.
* `signs`: words that follow from the sign of a number.
* `dependency_search`: copies and functional dependencies, found in one pass.
* `dependencies`: copies left out, and functional dependencies as rules.
* `durations`: numbers that are the time between two dates.
* `orders`: numbers never below another column's.
* `missing_together`: columns that are missing in the same rows.
* `skipped_questions`: columns that are missing by the words of another one.
* `calendar_copies`: columns that follow from a date, left out.
* `code_counts`: the number of codes of a draft's columns.
* `units`: the proposed privacy unit, and candidates for it.
* `hints`: warnings, and questions that only a person can answer.
* `chosen_unit`: the consequences of the privacy unit, in a draft and after a change.
* `written_numbers`: numbers and times written as text, such as "$1,234.50".
* `seen_rows`: statistics from one or two passes over a file.
* `tables`: the draft of a table.
* `images`: the draft of images.
* `marked_values`: values taken from the rows, accepted one by one or by kind.
* `changes`: edits of marked values.
* `confirmation`: accepting or editing marked values in a terminal.
* `display`: a draft as shown in Python.
"""
