"""A trace in columns, and the facts read off them: steps, ops, launches, intervals.

Decisions and their reasons:

- External ids cannot be trusted. Several producers of 2022 and 2023 wrote the correlation id in their place, and some
  of these match an op by accident. So an id counts only where its op contains the launch (`trace/ops.py`).

- The forward op of a backward op is found by sequence numbers (`trace/backward.py`): the last op of the forward
  thread with the node's number. On every reference trace each node then gets the name of its op. Nodes created in C++
  are left out: their op has no number, and the last op that has it is unrelated.

A trace of 1 GB (2.4 million rows) has to be read and analysed in 320 MB. What made that possible, the largest gain
first:

- Columns are narrow where their values are (`trace/kineto/tables.py`); products are computed in 64 bits where they
  are needed.
- `EventTable.ends(rows)` instead of `end_ns[rows]`, which makes a column for all events each time.
- Results that several measurements need are kept with the trace: `@shared` (`trace/shared.py`). What has one caller
  is not kept.
- `allocator.give_back_large_blocks`: otherwise glibc keeps the memory of large freed arrays. From four megabytes on,
  as numpy asks for huge pages from there; from two on, 775,000 page faults took 2.0 s of the 7.2 s of a processor
  that `summarize` of 1 GB needed, for no less memory.
- The views whose columns are as long as the ops come first, before what all views share is kept
  (`ingest/analysing.py`).
- Host ranges are joined piece by piece (`metrics/steps/parts.py`).
- Columns of a large file wait on disk until their table is made (see below), and of a trace with a million rows from
  then on, too.

Columns wait on disk (`trace/on_disk.py`). The columns of events and kernels are 111 MB for each GB, what measurements
share 85 MB, and all views together need most of both; but one measurement reads a few columns. So each is written to
a file without a name and mapped: what a measurement reads comes into memory, and leaves it when it has ended and more
than 64 MB are there; while it lasts, a thread has them leave at 256 MB. Nothing else changes, since a mapped column
is a numpy array like any other. It costs a twentieth of the time, and room on the disk for temporary files
(`TMPDIR`): a quarter of the text. Where that is full, columns stay in memory, and where it lies in memory itself
nothing is saved. What is left in memory is what a measurement makes on its way, at most 60 MB for each GB, and what
it reads.
"""
