"""Intake: from untrusted bytes to sealed, clean, columnar rows.

In reading order, each part after those that it imports:

* `unpacking`: bytes, counted and decompressed under limits.
* `sniffing`: a file's format, by its first bytes.
* `spool`: anonymous files, which end with their process.
* `header`: a file's columns and the declared ones.
* `clean_rows`: a block of raw columns, cleaned.
* `csv_records`: CSV: blocks of whole records.
* `text_encoding`: CSV: the declared encoding, to UTF-8.
* `csv_table`: CSV: rows.
* `thrift_compact`: Parquet: the encoding of its metadata.
* `parquet_footer`: Parquet: columns and row groups.
* `parquet_pages`: Parquet: the memory that reading takes.
* `parquet_table`: Parquet: rows.
* `records`: reads of fixed length.
* `npy_header`: arrays of NumPy.
* `zip_directory`: the directory of an archive.
* `zip_entry`: one entry of an archive.
* `image_child`: the sandboxed decoder of images.
* `image_decoder`: decoding in the sandbox, and restarting it.
* `image_labels`: the label file of an archive.
* `image_rows`: accepted images and refusals.
* `image_archive`: images from a ZIP of files.
* `image_arrays`: images from arrays.
* `unit_limit`: at most so many units for the declared size.
* `intake_report`: counts of accepted, changed and refused rows, for the owner alone.
* `intake`: all steps, from bytes to sealed rows.
"""
