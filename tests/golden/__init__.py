"""Expected answers on the demo recordings, made to be read by a person.

One text a run (`<run>.txt`): its sentences, its cards and its key figures as a terminal prints them. Every other number
of a view is covered by one line, `all figures`: how many there are and a hash of them, which says that something
changed but not what. That is said by

    python -m tests.golden.compare OTHER     the figures that differ from those of another checkout, by view and field

`make golden` writes the texts.
"""
