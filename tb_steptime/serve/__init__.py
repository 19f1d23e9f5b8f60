"""What the server answers to the tab: the store of spans, its pages, the wire types and their TypeScript.

Decisions and their reasons:

The memory that TensorBoard spends on spans is bounded in bytes, however many spans there are (`serve/pages.py`):
judgements take up to 16 MB, trends as columns of numbers up to 64 MB, and all metrics of the ranks of a job up to
48 MB. The index is rebuilt only when something in it changed.
"""
