"""Log directory -> found spans -> a pool of processes that read them -> measured spans in summary files.

Decisions and their reasons:

A second process measures half of the views (`ingest/analysing.py`): forked, where this one has one thread, so the
columns are there already, once for both. What both need each measures for itself; with `operators` a tenth of the
work is done twice, without it a quarter. Results come back as MessagePack. What a second process does not say,
because a view failed or it was killed, the first one measures again: so there is one place that tells what is wrong.

A scan lists a folder again only where its times changed (`ingest/local_files.py`). These tell of names that come and
go, so files are looked at each time as well: a trace may be replaced in place. In a directory of more than 500 files,
those that are older than a minute take turns, and are seen within 20 scans. Times of folders cannot always be relied
on: file systems round them, network file systems show what they knew a moment ago, and some have none. So a folder
that changed less than 2.5 s before it was listed, or that holds links, is listed again each time, every other one
within 30 scans, and all of them after a pause of a minute. A directory of 100,000 files with 10,000 spans takes 0.6 s
of a processor at first, and 0.02 s when nothing changed.

A file that is written to settles for a second before it is read. If it cannot be read and is younger than ten
seconds, it is no failure yet: a job that pauses while it writes leaves a part of a file.

The store scans the log directory in a thread and has traces read by other processes: one per core, or one trace by
several. Such a process writes the summary file next to the trace and reports its progress line by line. Everything
that the tab shows is in the summary file: the results of the analyses. The rules run on them again at each start, so
better words need no second reading. A summary of another format is refused; one of a newer release is never
overwritten.
"""
