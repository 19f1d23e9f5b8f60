"""What repeats in a recording and what does not: the steady duration of each call, and by how much calls exceed it.

`device.find_excess` returns the excess of a recording as intervals, by track, kind and event (see `excess`).
"""
