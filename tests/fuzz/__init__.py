"""Mutations of traces, and what must hold for whatever comes out: figures or a clear refusal.

seeds       small excerpts of real traces, of the demo's and of the tiny test files
mutations   one damage or lie, drawn from a case's number: values, types, keys, texts, cuts, splices, bytes, gzip
checks      reading, every analysis, cards, the event file and JSON of one file; and what a figure may be
other_files summaries and the recorder's files, damaged or lying, and the answers about their directory
"""
