"""What repeats in a recording and what does not: the steady duration of each call, and each call's excess over it.

device.py      the excess of a recording: on the streams of devices, and, by host.py, on host threads
excess.py      the result: intervals by track, kind and event
stretches.py   the time of each host thread, divided among the innermost op, range or call
waits.py       the part of that which is waiting, and not time of its own
sites.py       which calls are the same code: numbers of sites, from exact to alike
trials.py      what a library launches only in first calls, to choose an algorithm
repeats.py     the steady duration of the calls of a site, and the calls that are far longer
step.py        the part of each recorded step that is excess, and the remaining steady step
shown.py       the excess as rows of a result
first_use.py   work that the recording itself identifies as a first use
before_recording.py, after_recording.py   the time before and after the work that the recording explains
"""
