"""A large file, read by several processes: the same trace as one process makes of it.

orders       what a part of the text is, and where it lies;  seams  where a plain file is cut
slots        unpacked text that waits;  unpacking    a process that unpacks a gzip file ahead of the others
taking       events of a part -> columns;  reading  an order -> a part that is read
storing      columns of a part -> a file without a name, and back
worker       a process that reads parts;  team  all of them, from their start to their end
merging      parts -> the columns of the file
whole        a path -> what one walk would have found

  file   |------- 0 -------|------- 1 -------|---- 2 ----|      cut where one process would cut
                |                  |               |
           this process         worker       this process      whoever is free takes the next
                |                  |               |
  columns  |== 0 ==|          |== 1 ==|        |= 2 =|         numbers of names are those of each process
                 \\_______________|________________/
  merged                |=== 0 1 2 ===|                        renumbered in the order of the file

Decisions and their reasons:

A file of 128 MB and more is read by all cores (`trace/kineto/parts`), a gzip file from 16 MB on. Same trace to the
bit, or one process reads it.

- Where it is cut. One process reads chunks, and cuts behind the last whole event of each: the last `}, {` within 16
  KB of the chunk's end. That place is known without what lies before it. So parts begin at cuts that one process
  makes as well, a process that reads a part starts with the same rest of a chunk, and all blocks of events are the
  very blocks of one process. What depends on where blocks end (the order in which names first appear where begins and
  ends are written apart, how a block with an odd event is read) comes out the same without being thought about.
- A wrong guess is found out. `}, {` may stand within a string or a list of objects. Each part but the last is given
  the brace that opens the next one. It is seamless when its last block decodes and that brace alone is left. Half a
  string or an open list decodes nowhere, so by induction from the first part each seam is one of the whole file.
- What a process remembers goes over seams: that times are to be read as they are spelled, that no id is spelled as in
  2021, begins that wait for their ends, how much room texts have taken. A part says what it assumed, and what it
  would have to do otherwise if that was wrong; where it matters, one process reads the file. Begins and ends are
  matched again.
- Numbers of names are given by each process in the order in which it saw them. It goes through its parts in the order
  of the file; so going through all parts in that order, and through what was new in each, gives the numbers of the
  file.
- Damage. Within a part it is repaired and counted as always, a file that breaks off too: same text, same steps. At a
  seam, in a gzip stream that is corrupt, and when a process dies or a disk fails, one process reads the file from its
  beginning and says what is wrong. Correct first: such a file takes its time twice.
- Whoever is free takes the next part. Orders for parts lie in one pipe, of which all processes read. A gzip stream is
  unpacked by a process of its own into slots of 4 MB in memory that all share; another pipe has the numbers of slots
  that are free. Through a file, with reads and writes, handing 1 GB over took half a second.
- Forked where there is one thread, as in the command line: all is imported then, and a process starts in
  milliseconds. Where another thread may hold a lock, as in the tab's processes and in notebooks, it is started as a
  program and takes 0.15 s of CPU time (`processes/children.py`).
- What is freed is used again. glibc gives the end of its heap back as soon as 128 KB are free there, which is less
  than one block of text: pages were cleared anew for every block. The reader decides what is kept
  (`trace/allocator.py`).
- Columns wait on disk. A process writes those of a part to a file without a name and forgets them, in 32 bits where
  they fit. Each is put together when its table is made. So reading takes less memory than by one process alone.
- Nothing is left behind. Files have no name from the beginning (no shared memory with a name, no resource tracker),
  children are ordinary processes that end when nobody reads their stdout, and are killed when the reading ends in any
  way. `tests/process/test_reading_together.py` kills either side with real signals.
- How many. The command line and the Python API use all cores, at most eight. The queue of the tab divides them: a
  trace that is read alone has all, those that wait get their share, and each at least one.

What it costs, in seconds of CPU time for 1 GB of `benchmarks.generate` with the reader in C, on a machine that others
used as well (so single figures are good to a tenth):

| | one process | two processes |
|---|---:|---:|
| text to columns | 1.66 | 0.58 + 1.22 |
| start of the other process, where it is not forked | | 0.15 |
| parts put together, sorted tables | 0.24 | 0.27 |
| all, where it is forked | 1.90 | 2.07 |
| the same of gzip | 2.3 | 2.7 |

On paper, where parts are shared out evenly and 0.27 s are not (Amdahl): 1.5 times as fast on two cores, 2.5 on four,
3.7 on eight. In Python alone, whose decoding takes four times as long, 1.8, 3.2 and 5.2. A gzip stream is unpacked by
one process, at some 2 GB of text a second of its time: with the reader in C that is the end of it from four cores on.

From 0.2 to 10 GB the time per GB stays: 2.7, 2.4 and 2.4 s of CPU time for each of 1, 2 and 10 GB.
"""
