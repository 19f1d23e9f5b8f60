"""Every table of the product, declared once: the meaning of its columns, and which of them each surface shows.

The heads of the tab's tables, the `kernels` command, `export --csv` and `--jsonl`, the DataFrames of notebooks and the
answers to coding agents all select columns from here. `base` says what a column is; each other module holds the tables
of one subject.
"""
