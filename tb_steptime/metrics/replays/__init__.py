"""Kernels of a CUDA graph's replay beside those of an eager step: which one stands for which.

Decisions and their reasons:

One call launches a whole CUDA graph, so its kernels have no op around their launch. Two sources name them.
`trace/kernel_labels.py` joins both, and every table asks it.

- Annotations are about this very kernel, so they come first. They name the module and the phase, never the op.
- An eager recording of the same job names ops, lines and input shapes, too. `metrics/replays/alignment.py` pairs the
  kernels of a replayed step with those of an eager one by name, launch shape and order. An exact alignment keeps the
  order of kernels; what streams mix differently is aligned again, for as long as that finds more of the same kernels.

Whether two recordings are of the same job is not asked of names or settings but of the kernels: at least half of the
graphs' kernel time has to run with kernels that the eager step has. Recordings of one job agree in nearly all of it,
others in less than a fifth. So a wrong neighbour names nothing, and the note says how little agrees.

The recorded facts stay apart from the labels. Host time, calls and launches are those of the recording; a labelled op
has device time and no calls. What launched the graph keeps the graph in its total, and loses it from its own time, so
the device time of all ops and of what no op launched still sums to all work.

`ingest/graph_names.py` looks for the eager recording next to the trace and in its log directory, reads three files at
most, and leaves out those whose summaries show other kernels. A summary remembers which file named it, and is
measured again where that file changes. An eager recording that arrives later is noticed by `tb-steptime index` alone:
a log directory of a running job gets new files all the time, and reading every captured run again for each of them
would not end.
"""
