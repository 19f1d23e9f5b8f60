"""Snapshots of GPU memory, as `torch.cuda.memory._dump_snapshot` writes them, read without unpickling anything.

model      the columns of a snapshot: trace entries, segments, blocks, stacks; what is in use when
reading    a file -> its columns
lines      allocations by line of code: at the peak, at the end, and how long they live; growth since another snapshot
categories what each allocation is for
summary    the results of a snapshot: peaks by line, free memory by what keeps it, why memory ran out

Decisions and their reasons:

- A pickle may run any code when it is loaded. So the opcodes are walked here, and those that would import, call or
  build anything are refused by name.
- A snapshot of 1 GB contains millions of entries, each with a stack of fifty frames, as references to a few thousand
  distinct frames. A run of references is looked up by its bytes, so a stack is parsed once however often it occurs.
  Each entry becomes a row of columns as soon as it is complete.
"""
