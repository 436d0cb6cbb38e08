"""Intake: from untrusted bytes to sealed, clean, columnar rows.

In reading order, each part after those that it imports:

* `unpacking`: bytes, counted and decompressed under limits.
* `sniffing`: a file's format, by its first bytes.
* `spool`: anonymous files, which end with their process.
* `header`: a file's columns and the declared ones.
* `clean_rows`: a block of raw columns, cleaned.
* `csv_records`: CSV: blocks of whole records.
* `text_encoding`: CSV: its declared encoding, to UTF-8.
* `csv_table`: CSV: rows.
* `thrift_compact`: Parquet: the encoding of its metadata.
* `parquet_footer`: Parquet: what there is to read.
* `parquet_pages`: Parquet: how much memory reading takes.
* `parquet_table`: Parquet: rows.
* `records`: reads of fixed length.
* `npy_header`: arrays of NumPy.
* `zip_directory`: the directory of an archive.
* `zip_entry`: one entry of an archive.
* `image_child`: the sandboxed decoder of images.
* `image_decoder`: decoding in it, and its restart.
* `image_labels`: the label file of an archive.
* `image_rows`: accepted images and refusals.
* `image_archive`: images from a ZIP of files.
* `image_arrays`: images from arrays.
* `unit_limit`: at most so many units for the declared size.
* `intake_report`: what happened, for the owner alone.
* `intake`: the whole way.
"""
