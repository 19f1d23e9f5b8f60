"""Reads blocks of plain events with a small C extension, if it could be built; other blocks are read by
`trace.kineto.rows`.

    text of a block --- Scanner (C) ---> columns of bytes ---> Columns
                    \\-- odd: None ----> RowDecoder -> rows --/

What C accepts, it reads exactly as `rows` would, bit for bit. It declines a whole block if it meets anything unknown.

Decisions and their reasons:

Where the time of one core went, with Python alone and with C, for the 200 MB of `benchmarks.generate` (480 000 rows,
765 blocks of text, seconds of CPU time on a 2-core machine):

| | Python alone | with C |
|---|---:|---:|
| JSON to objects (msgspec), or to columns of a block (C) | 0.37 | 0.21 |
| number of each row's label: category, name, process, thread | 0.16 | in it |
| numbers of the spellings of shapes, types and settings | 0.10 | in it |
| lists and arrays, one of each column and block | 0.30 | 0.04 |
| times and durations as nanoseconds | 0.05 | in it |
| the file, copies of its text, cuts between blocks | 0.12 | 0.11 |
| sorted tables out of the columns | 0.04 | 0.04 |
| all | 1.13 | 0.39 |

- Why C. Nine tenths of the first column go into Python objects that live for one block. msgspec alone needs a third of
  the time, so no change to the Python code behind it can save more than two thirds; a scanner that writes numbers
  directly into columns makes none of these objects. Two other changes were tried before: larger blocks (a tenth slower
  or no faster from 128 KB to 2 MB) and no garbage collection (a twentieth faster).
- The Python path stays, as the fallback and as the oracle. `trace/kineto/native/events.c` declines a whole block of
  text if it contains anything unknown: a needed value of another type, an escape of half a surrogate pair, a duplicate
  key, bad UTF-8, a number of more digits than it can convert exactly. Python reads that block as before, so repairs,
  odd producers and damaged files have one implementation. On all real traces nothing is declined.
- Bit for bit. What C accepts gets the same numbers, the same order of names and texts, and the same narrow columns as
  with Python (`tests/unit/trace/test_native.py`: real traces, demo, odd files, drawn and damaged events). A time with
  up to three decimals is a whole number of nanoseconds without a float in between. One with more decimals goes through
  the same float64 as in Python if digits and power of ten are exact, and is declined otherwise.
- The extension also handles the frequent opcodes of memory snapshots (`trace/plain.py`), and likewise leaves odd ones
  to Python. 1 GB with 3.3 million entries is read in 19.5 s and 0.55 GB of memory (`python -m benchmarks.snapshot`); if
  each entry has a distinct stack, in 132 s and 5.3 GB (`--own-stacks`), which no training was seen to write.
- Rare events are left to Python even in a block that C accepts: names of threads, begins and ends, events of the
  allocator, arguments of collectives. C hands their text over.
- Optional, and never stale. It is built if there is a compiler, for all Pythons from 3.10 at once (limited API).
  `trace/extension.py` contains the hash of the sources: an extension built from other sources is not used. `tb-steptime
  --version` prints which reader is used; `TB_STEPTIME_PURE=1` selects Python.
"""
