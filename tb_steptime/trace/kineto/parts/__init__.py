"""Reads a large file with several processes, with the same resulting trace as from one process.

orders       what a part of the text is and where it lies, where a plain file is cut, and slots for unpacked text
unpacking    a process that unpacks a gzip file ahead of the others
sink         events of a part -> columns
reading      an order -> a part that is read, whose columns wait in a file without a name
worker       a process that reads parts
team         all processes, from their start to their end
merging      parts -> the columns of the file
whole        a path -> the result of one walk through the file

  file   |------- 0 -------|------- 1 -------|---- 2 ----|      cut where one process would cut
                |                  |               |
           this process         worker       this process      whoever is free takes the next
                |                  |               |
  columns  |== 0 ==|          |== 1 ==|        |= 2 =|         numbers of names are those of each process
                 \\_______________|________________/
  merged                |=== 0 1 2 ===|                        renumbered in the order of the file

Decisions and their reasons:

A file of 128 MB or more is read by all cores (`trace/kineto/parts`), a gzip file from 16 MB on. The trace is the same
bit for bit, or else one process reads the file.

- Where the file is cut. One process reads chunks, and cuts behind the last whole event of each: the last `}, {` within
  16 KB of the chunk's end. That place is known without the text before it. So parts begin at cuts that one process
  makes as well, a process that reads a part starts with the same rest of a chunk, and all blocks of events are exactly
  the blocks of one process. Results that depend on where blocks end (the order in which names first appear where begins
  and ends are written apart, how a block with an odd event is read) then come out the same without special care.
- A wrong guess is detected. `}, {` may stand within a string or a list of objects. Each part but the last also gets the
  brace that opens the next one. The part is seamless if its last block decodes and only that brace is left. Half a
  string or an open list never decodes, so by induction from the first part each seam is a seam of the whole file.
- What a process remembers crosses seams: that times must be read as written, that ids no longer have the spelling of
  2021, begins that wait for their ends, how much room texts have taken. A part reports what it assumed, and what it
  would have done otherwise; where that matters, one process reads the file. Begins and ends are matched again.
- Each process numbers names in the order in which it saw them. It reads its parts in the order of the file; so going
  through all parts in that order, and through the new names of each, gives the numbers of the file.
- Damage within a part is repaired and counted as always, even if the file breaks off there: same text, same steps.
  After damage at a seam or in a gzip stream, or if a process dies or a disk fails, one process reads the file from its
  beginning and reports what is wrong. Correctness comes first: such a file takes twice the time.
- Whichever process is free takes the next part. Orders for parts lie in one pipe, from which all processes read. A gzip
  stream is unpacked by a separate process into slots of 4 MB in memory that all share; another pipe has the numbers of
  free slots. Handing 1 GB over through a file, with reads and writes, took half a second.
- Children are forked if there is one thread, as in the command line: everything is imported by then, and a process
  starts in milliseconds. If another thread may hold a lock, as in the tab's processes and in notebooks, a child is
  started as a program and takes 0.15 s of CPU time (`processes/children.py`).
- Freed memory is reused. glibc returns the end of its heap as soon as 128 KB are free there, which is less than one
  block of text, so pages were cleared anew for every block. The reader decides how much is kept (`trace/allocator.py`).
- Columns wait on disk. A process writes the columns of a part to an unnamed file, in 32 bits if they fit, and forgets
  them. Each column is put together when its table is made. So reading takes less memory than with one process alone.
- Nothing is left behind. Files have no name from the beginning (no shared memory with a name, no resource tracker),
  children are ordinary processes that end when nobody reads their stdout, and are killed when the reading ends in any
  way. `tests/process/test_reading_together.py` kills either side with real signals.
- Number of processes. The command line and the Python API use all cores, at most eight. The queue of the tab divides
  them: a trace that is read alone gets all cores; several waiting traces get a share each, at least one core.

Cost in seconds of CPU time for 1 GB of `benchmarks.generate` with the reader in C, on a machine in shared use (so
single figures are accurate to a tenth):

| | one process | two processes |
|---|---:|---:|
| text to columns | 1.66 | 0.58 + 1.22 |
| start of the other process, where it is not forked | | 0.15 |
| parts put together, sorted tables | 0.24 | 0.27 |
| all, where it is forked | 1.90 | 2.07 |
| the same of gzip | 2.3 | 2.7 |

In theory, if parts are shared out evenly and 0.27 s are serial (Amdahl): 1.5 times as fast on two cores, 2.5 on four,
3.7 on eight. In Python alone, whose decoding takes four times as long, 1.8, 3.2 and 5.2. A gzip stream is unpacked by
one process, at some 2 GB of text per second of CPU time: with the reader in C that is the limit from four cores on.

The time per GB stays the same from 0.2 to 10 GB: 2.7, 2.4 and 2.4 s of CPU time per GB for 1, 2 and 10 GB.
"""
