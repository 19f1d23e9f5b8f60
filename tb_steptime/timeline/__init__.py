"""The timeline of a span: its events on tracks, in a file of columns, served by window and level of detail.

Decisions and their reasons:

Single events are not in the analysis. When the timeline of a span is first opened, a process reads the trace again and
writes an event file (`timeline/event_file.py`): columns sorted by line and start, mapped into memory, with the links
between events and the idle parts for the details. So 1 GB of trace (300 MB of columns) answers any window in 10 to 30
ms. Bars too narrow to see are merged within windows whose length is a power of two, and merging twice is the same as
merging once; so five levels are computed in advance, and an answer starts from the coarsest that is fine enough. A
merged bar keeps the sum of its events' lengths: at every level the covered time of a line is that of its events. Event
files can be rebuilt quickly: their number is limited, and they are deleted with the process. A file that differs from
what was written, by its checksum, is not opened. Steps that are cut out for download (`serve/slices.py`) are handled
similarly: a process writes the file, and the tab asks until it is complete, because a stream that breaks off looks like
a complete file.
"""
