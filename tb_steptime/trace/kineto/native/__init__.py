"""Blocks of plain events read by a small C extension, where it could be built; the others by `trace.kineto.rows`.

    text of a block --- Scanner (C) ---> columns of bytes ---> Columns
                    \\-- odd: None ----> RowDecoder -> rows --/

What C takes it reads to the bit as the rows would be: it declines a whole block for anything that it does not know.

Decisions and their reasons:

Where the time of one core went, for the 200 MB of `benchmarks.generate` (480 000 rows, 765 blocks of text, seconds of
CPU time on a 2-core machine), before there was any C and with it:

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

- Why C. Nine tenths of the first column make Python objects that live for one block. msgspec alone needs a third of
  it, so whatever is done in Python behind it cannot win more than two thirds; a scanner that puts numbers where they
  belong makes none of these objects. Tried before that: larger blocks (a tenth slower or as fast from 128 KB to 2 MB)
  and no collection of garbage (a twentieth).
- The Python path stays, as the fallback and as the oracle. `trace/kineto/native/events.c` declines a whole block of
  text for anything that it does not know: a value of another type where it is needed, an escape of half a character,
  a key twice, bad UTF-8, a number of more digits than it can convert exactly. Python reads that block as before, so
  repairs, odd producers and damaged files have one implementation. On all real traces nothing is declined.
- To the bit. What C takes has the numbers, the order of names and texts, and the narrow columns that Python gives
  (`tests/unit/trace/test_native.py`: real traces, demo, odd files, drawn and damaged events). A time with up to three
  decimals is a whole number of nanoseconds without a float in between; one with more goes through the same float64 as
  Python's, where digits and power of ten are exact, and is declined elsewhere.
- Beside them lie the frequent opcodes of memory snapshots (`trace/plain.py`), which C leaves to Python likewise where
  they are odd. 1 GB with 3.3 million entries is read in 19.5 s and 0.55 GB of memory (`python -m benchmarks.snapshot`);
  with a stack of its own for each of them in 132 s and 5.3 GB (`--own-stacks`), which no training was seen to write.
- What rarely occurs is left to Python even in a block that C takes: names of threads, begins and ends, the
  allocator's events, what collectives say. C hands their text over.
- Optional, and never stale. It is built where there is a compiler, for all Pythons from 3.10 at once (limited API).
  `trace/extension.py` names the hash of the sources: what was built of others is not used. `tb-steptime
  --version` says what reads; `TB_STEPTIME_PURE=1` has Python read.
"""
