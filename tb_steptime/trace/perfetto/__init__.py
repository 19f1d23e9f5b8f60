"""Perfetto's protobuf traces of PyTorch's profiler -> Trace, in the same columns as its JSON.

Two writers make them. PyTorch's second profiler backend writes `.pftrace.gz`: what the host does as slices, whose
begins and ends are events of their own, and what a GPU does as render stages, which have a length. Converters of
Kineto's JSON write `.pftrace`: slices for both. Either way an event's arguments have the names that they have in JSON,
so the columns are filled by what fills them from JSON, `trace.kineto.columns`.

    messages   the protobuf messages, and of each the fields that are read
    wire       tags and lengths, which are read by hand
    packets    chunks of a file -> packets; a damaged one is skipped
    arguments  annotations of a slice, extra data of a render stage -> arguments as in JSON
    tracks     tracks and interned texts, which events name by number
    slices     which end belongs to which begin
    taking     packets -> columns
    devices    what the format does not hold of the GPU, by its architecture or from a trace that lies beside
    reader     a file -> a trace, and what the format loses as notes
    recognition  does a file look like such a trace?
"""
