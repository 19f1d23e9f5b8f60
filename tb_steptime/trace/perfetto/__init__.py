"""Perfetto's protobuf traces of PyTorch's profiler -> Trace, in the same columns as its JSON.

Two writers make them. PyTorch's second profiler backend writes `.pftrace.gz`: host events as slices, whose begins and
ends are separate events, and GPU activities as render stages, which have a length. Converters of Kineto's JSON write
`.pftrace`: slices for both. Either way an event's arguments have the same names as in JSON, so the columns are filled
by the same code as for JSON, `trace.kineto.columns`.

    recognition  whether a file looks like such a trace
    packets      chunks of a file -> packets, by messages with only the fields that are read; a damaged one is skipped
    arguments    annotations of a slice, extra data of a render stage -> arguments as in JSON
    tracks       tracks and interned texts, to which events refer by number
    sink         packets -> columns, and which end belongs to which begin
    reader       a file -> a trace, with notes on what the format loses, and properties of the GPU that it lacks

Decisions and their reasons:

This package reads `.pftrace`; `trace/reading.py` selects the reader of a file by its first bytes.

- It makes the same rows that JSON is decoded into (`trace/kineto/row_types.py`) and passes them to the same columns. So
  what a value means, and which values are possible, is decided in one place, and a column that is added to `Args` is
  filled from both formats. The tests write recordings in both formats and compare all columns: for eleven real ones
  nothing differs, for two more only thread numbers, of which the format keeps 31 bits.
- protobuf decodes, with our own definitions. They contain only the fields that are read; others are skipped. A
  converted training loop of 20 MB takes 2.1 s and 37 MB of memory this way; 4.5 s and 185 MB with the classes of the
  perfetto package, which also lack PyTorch's fields 1000, 1001 and 3000; and 7.5 s with a wire reader in Python, all on
  a busy machine. protobuf is installed with TensorBoard. Packets are cut by hand, so that damage in one costs only that
  packet.
- Ends find their begins by groups or by time (`trace/perfetto/sink.py`). PyTorch writes all begins of a group and then
  all ends; slices may share an instant, so a stack would pair them wrongly. Converters write in the order of time. A
  run of begins and ends that goes back in time is of the first kind.
- About 110,000 events per second (`python -m benchmarks.pftrace`, CPU time, start-up included): 62 MB with 343,000
  events in 3.2 s and 94 MB of memory, compressed 3.6 s. JSON with as many events takes 0.4 s, since C reads it.
"""
