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

Decisions and their reasons:

This room reads `.pftrace`; which reader a file needs, `trace/reading.py` tells by its first bytes.

- It makes the rows that JSON is decoded into (`trace/kineto/row_types.py`) and gives them to the same columns, so
  what a value means, and which values are possible, is decided in one place, and a column that is added to `Args` is
  filled from both formats. The tests write recordings in both and compare all columns: of eleven real ones nothing
  differs, of two more only numbers of threads, of which the format keeps 31 bits.
- protobuf decodes, by definitions of our own. They have the fields alone that are read, the others are skipped. Of a
  converted training loop, 20 MB: 2.1 s and 37 MB of memory like this, 4.5 s and 185 MB with the classes of the
  perfetto package, which also do not know PyTorch's fields 1000, 1001 and 3000; 7.5 s with a wire reader in Python,
  all on a busy machine. protobuf is installed with TensorBoard. Packets are cut by hand, so that a damaged one costs
  itself alone.
- Ends find their begins by groups or by time (`slices.py`). PyTorch writes all begins of a group and then all ends;
  slices may share an instant, so a stack would pair them wrong. Converters write in the order of time. A run of
  begins and ends that goes back in time is of the first kind.
- About 110,000 events a second (`python -m benchmarks.pftrace`, CPU time, start-up included): 62 MB with 343,000
  events in 3.2 s and 94 MB of memory, packed 3.6 s. JSON of as many events takes 0.4 s, since C reads it.
"""
