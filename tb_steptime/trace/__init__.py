"""A trace in columns, and the facts read off them: steps, ops, launches, intervals.

Decisions and their reasons:

- External ids cannot be trusted. Several producers of 2022 and 2023 wrote the correlation id in their place, and some
  of these ids match an op by accident. So an id counts only where its op contains the launch (`trace/ops.py`).

- The forward op of a backward op is found by sequence numbers (`trace/backward.py`): the last op of the forward
  thread with the node's number. On every reference trace each node then gets the name of its op. Nodes created in C++
  are left out: their op has no number, and the last op that has it is unrelated.

A trace of 1 GB (2.4 million rows) has to be read and analysed in 320 MB. What made that possible, the largest gain
first:

- Columns use the narrowest type that holds their values (`trace/kineto/tables.py`); products are computed in 64 bits
  where that is needed.
- `EventTable.ends(rows)` instead of `end_ns[rows]`, which makes a column for all events each time.
- Results that several measurements need are kept with the trace: `@shared` (`trace/model.py`). A result with only one
  caller is not kept.
- `allocator.give_back_large_blocks`: otherwise glibc keeps the memory of large freed arrays. The threshold is four
  megabytes, since numpy asks for huge pages from that size on. With a threshold of two megabytes, 775,000 page faults
  took 2.0 s of the 7.2 s of CPU time that `summarize` of 1 GB needed, and memory use was no lower.
- Views whose columns are as long as the ops are computed first, before the results that all views share are kept
  (`ingest/analysing.py`).
- Host ranges are joined piece by piece (`metrics/steps/parts.py`).
- Columns of a large file wait on disk until their table is made (see below). Those of a trace with a million rows stay
  on disk after that, too.

Columns wait on disk (`trace/on_disk.py`). The columns of events and kernels take 111 MB per GB of trace, the results
that measurements share 85 MB, and all views together need most of both; but a single measurement reads only a few
columns. So each column is written to an unnamed file and mapped. The pages that a measurement reads come into memory;
they are dropped when it ends if more than 64 MB are resident, and while it runs, a thread drops them at 256 MB. Nothing
else changes, since a mapped column is a numpy array like any other. The cost is a twentieth of the time, and disk space
for temporary files (`TMPDIR`): a quarter of the size of the text. Where the disk is full, columns stay in memory; where
`TMPDIR` is itself in memory, nothing is saved. What remains in memory is what a measurement reads, and its intermediate
results: at most 60 MB per GB.
"""
