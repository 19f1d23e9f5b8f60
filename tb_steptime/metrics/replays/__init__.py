"""Matches the kernels of a CUDA graph's replay with those of an eager step.

Decisions and their reasons:

One call launches a whole CUDA graph, so its kernels have no op around their launch. Two sources provide names instead.
`trace/kernel_labels.py` combines both, and every table uses it.

- Annotations belong to this very kernel, so they take precedence. They name the module and the phase, never the op.
- An eager recording of the same job also provides ops, lines and input shapes. `metrics/replays/alignment.py` pairs the
  kernels of a replayed step with those of an eager one by name, launch shape and order. An exact alignment keeps the
  order of kernels; kernels that streams interleave differently are aligned again, as long as that finds more equal
  kernels.

Whether two recordings are of the same job is decided by kernels, not by names or settings: at least half of the graphs'
kernel time must be in kernels that the eager step has. Recordings of one job agree in nearly all of it, others in less
than a fifth. A recording of another job therefore provides no names, and the note says how little agrees.

Recorded facts are kept separate from labels. Host time, calls and launches are those of the recording; a labelled op
has device time and no calls. The op that launched the graph keeps the graph in its total but not in its self time, so
the device time of all ops, plus that of work which no op launched, still equals all work.

`ingest/graph_names.py` looks for the eager recording next to the trace and in its log directory, reads at most three
files, and skips those whose summaries show other kernels. A summary records which file provided the names, and is
measured again if that file changes. A captured run without names is measured again when a summary shows that another
recording may have its kernels. The log directory of a running job gets new files all the time, and rereading every
captured run for each of them would never end. `tb-steptime index` and the tab therefore decide this by summaries, after
all traces that were to be read have been read.
"""
