"""What repeats in a recording and what does not: the steady duration of each call, and each call's excess over it.

`device.find_excess` returns the excess of a recording, as intervals by track, kind and event (`excess`).
"""
