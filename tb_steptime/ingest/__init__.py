"""Log directory -> found spans -> a pool of processes that read them -> measured spans in summary files.

Decisions and their reasons:

A second process measures half of the views (`ingest/analysing.py`): it is forked, if this process has a single thread,
so both share one copy of the columns. What both need, each process measures for itself; with `operators` a tenth of the
work is done twice, without it a quarter. Results come back as MessagePack. The first process measures again whatever
the second one does not return, because a view failed or the process was killed, so errors are reported in one place.

A scan lists a folder again only where its times changed (`ingest/listing.py`). A folder's time changes only when
names come and go, so each scan also stats the files: a trace may be replaced in place. In a directory of more than 500
files, the files that are older than a minute take turns, and each is checked within 20 scans. Times of folders cannot
always be relied on: file systems round them, network file systems show slightly stale ones, and some have none. So a
folder that changed less than 2.5 s before it was listed, or that holds links, is listed again in each scan; every other
folder is listed again within 30 scans, and all folders are after a pause of a minute. A directory of 100,000 files with
10,000 spans takes 0.6 s of a processor at first, and 0.02 s when nothing changed.

A file that is written to settles for a second before it is read. A file that cannot be read counts as a failure only
once it is ten seconds old: a job that pauses while it writes leaves a partial file.

The store scans the log directory in a thread and has traces read by other processes: one per core, or one trace by
several. Such a process writes the summary file next to the trace and reports its progress line by line. Everything that
the tab shows comes from the summary file, which holds the results of the analyses. The rules run on them again at each
start, so a better wording does not require reading the trace again. A summary of another format is refused; one of a
newer release is never overwritten.
"""
