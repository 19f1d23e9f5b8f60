"""What repeats in a recording, and what does not: the steady duration of each call, and each call's excess over it.

stretches.py   the time of each host thread, shared out to the innermost op, range or call
sites.py       which calls are the same code: numbers of sites, from exact to alike
repeats.py     the steady duration of the calls of a site, and the calls that are far longer
find.py        the excess on host threads and on the streams of devices
excess.py      the result: intervals by track, kind and event
"""
