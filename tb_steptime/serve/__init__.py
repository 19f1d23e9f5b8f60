"""What the tab is answered: the store of spans, its pages, the wire types and their TypeScript.

Decisions and their reasons:

What TensorBoard holds of spans is bounded in bytes, however many there are (`serve/kept.py`): judgements up to 16 MB,
trends as columns of numbers up to 64 MB, all metrics of the ranks of a job up to 48 MB. The index is made again only
when something in it changed.
"""
