"""Expected answers on the demo recordings, in a form that people can read.

There is one text per run (`<run>.txt`) with its sentences, its cards and its key figures as a terminal prints them. One
line, `all figures`, covers all other numbers of a view: it has their count and a hash, which shows that something
changed, but not what. This command shows what changed:

    python -m tests.golden.compare OTHER     the figures that differ from those of another checkout, by view and field

`make golden` writes the texts.
"""
