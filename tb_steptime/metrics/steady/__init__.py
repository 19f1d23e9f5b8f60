"""What repeats in a recording, and what does not: the steady duration of each call, and each call's excess over it.

find.py        the excess of a recording: of host.py, on host threads, and of device.py, on the streams of devices
excess.py      the result: intervals by track, kind and event
stretches.py   the time of each host thread, shared out to the innermost op, range or call
waits.py       what of that is waiting, and no time of its own
sites.py       which calls are the same code: numbers of sites, from exact to alike
likeness.py    what calls of one site say about each other
repeats.py     the steady duration of the calls of a site, and the calls that are far longer
step.py        what of each recorded step is excess, and the steady step that is left
shown.py       the same as rows of a result
first_use.py   what the recording names as work of a first use
edges.py       what lies before and after the work that the recording explains
"""
