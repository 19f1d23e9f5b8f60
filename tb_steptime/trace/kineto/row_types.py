"""The types that events are decoded into: their keys as Kineto spells them.

Annotations are objects here, not text as in other modules: msgspec would evaluate each of them when a file is read.
"""

import math
from typing import Annotated, Any

import msgspec

#: Marks a missing Raw field. Raw cannot be optional: a union of Raw with None accepts only null.
MISSING = msgspec.Raw()
#: Least id of an arrow between nodes of a graph; arrows of launches have smaller ids.
FIRST_DEPENDENCY = 2**40
Track = int | float | str | None  # a process or thread: producers write numbers and words


class Args(msgspec.Struct, gc=False, frozen=True):
    """The arguments of an event that are used. Types are Any, since each has been written with a wrong type by some
    producer.

    Long lists that are the same for many events stay as JSON text.
    """

    correlation: Any = -1
    external_id: Any = msgspec.field(default=-1, name="External id")
    external_id_2021: Any = msgspec.field(default=-1, name="external id")
    device: Any = None
    stream: Any = None
    bytes: Any = -1
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=-1, name="registers per thread")
    shared_memory: Any = msgspec.field(default=-1, name="shared memory")
    blocks_per_sm: Any = msgspec.field(default=math.nan, name="blocks per SM")
    occupancy_percent: Any = msgspec.field(default=math.nan, name="est. achieved occupancy %")
    shapes: msgspec.Raw = msgspec.field(default=MISSING, name="Input Dims")
    dtypes: msgspec.Raw = msgspec.field(default=MISSING, name="Input type")
    settings: msgspec.Raw = msgspec.field(default=MISSING, name="Concrete Inputs")
    sequence: Any = msgspec.field(default=-1, name="Sequence number")
    forward_thread: Any = msgspec.field(default=0, name="Fwd thread id")
    stack: msgspec.Raw = msgspec.field(default=MISSING, name="Call stack")
    hierarchy: msgspec.Raw = msgspec.field(default=MISSING, name="Module Hierarchy")
    exchange: Any = msgspec.field(default=None, name="Collective name")
    elements_in: Any = msgspec.field(default=-1, name="In msg nelems")
    elements_out: Any = msgspec.field(default=-1, name="Out msg nelems")
    exchanged: Any = msgspec.field(default=None, name="dtype")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_size: Any = msgspec.field(default=-1, name="Group size")
    members: Any = msgspec.field(default=None, name="Process Group Ranks")
    purpose: Any = msgspec.field(default=None, name="Process Group Description")
    rows_sent: Any = msgspec.field(default=None, name="In split size")
    rows_received: Any = msgspec.field(default=None, name="Out split size")
    exchange_number: Any = msgspec.field(default=-1, name="Seq")
    to_rank: Any = msgspec.field(default=-1, name="Dst Rank")
    from_rank: Any = msgspec.field(default=-1, name="Src Rank")
    graph: Any = msgspec.field(default=-1, name="graph id")
    graph_node: Any = msgspec.field(default=-1, name="graph node id")
    module: Any = msgspec.field(default=None, name="module_fqn")
    scope: Any = msgspec.field(default=None, name="name")
    autograd: Any = msgspec.field(default=None, name="autograd_phase")
    annotation: Any = None
    original_stream: Any = None
    annotated_stream: Any = None
    copy_kind: Any = msgspec.field(default=None, name="copy kind")
    source_memory: Any = msgspec.field(default=None, name="src kind")
    target_memory: Any = msgspec.field(default=None, name="dst kind")
    memory_kind: Any = msgspec.field(default=None, name="memory kind")
    sycl_queue: Any = msgspec.field(default=None, name="sycl queue")
    l0_queue: Any = msgspec.field(default=None, name="l0 queue")


NO_ARGS = Args()

#: Arguments that few writers add to a kernel, copy or memset. Looking for a key costs a little time per event.
_OF_FEW = {
    "graph", "module", "scope", "autograd", "annotation", "annotated_stream",
    "copy_kind", "source_memory", "target_memory", "memory_kind", "sycl_queue", "l0_queue",
}  # fmt: skip
#: Args without those. An event's other keys and its name show whether it may have them: `Columns.may_have_more_args`.
PlainArgs = msgspec.defstruct(
    "PlainArgs",
    [
        (name, Args.__annotations__[name], msgspec.field(default=default, name=key))
        for name, key, default in zip(
            Args.__struct_fields__, Args.__struct_encode_fields__, Args.__struct_defaults__, strict=True
        )
        if name not in _OF_FEW
    ],
    gc=False,
    frozen=True,
)
NO_PLAIN_ARGS = PlainArgs()


class Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a duration. Times in microseconds; ts is a float, or Raw if a float would not hold it."""

    ts: Any
    name: str | None = None
    cat: str | None = None
    pid: Track = None
    tid: Track = None
    dur: float | None = None
    args: Args | None = NO_ARGS


class Begin(Complete, gc=False, tag="B"):
    """An event whose end is written as a separate event, an End of its thread."""


class End(msgspec.Struct, gc=False, tag_field="ph", tag="E"):
    """The end of its thread's last Begin."""

    ts: Any
    pid: Track = None
    tid: Track = None


class MemoryArgs(msgspec.Struct, gc=False, frozen=True):
    """Arguments of the allocator's events. Any of them may be missing: 2021 wrote no address and no totals."""

    addr: Any = msgspec.field(default=-1, name="Addr")
    bytes: Any = msgspec.field(default=None, name="Bytes")
    device_type: Any = msgspec.field(default=None, name="Device Type")
    device: Any = msgspec.field(default=-1, name="Device Id")
    allocated: Any = msgspec.field(default=-1, name="Total Allocated")
    reserved: Any = msgspec.field(default=-1, name="Total Reserved")


class Instant(msgspec.Struct, gc=False, tag_field="ph", tag="i"):
    """An event without a duration. Those of the allocator are kept, the others are only counted."""

    ts: Any
    name: str | None = None
    pid: Track = None
    tid: Track = None
    args: MemoryArgs | None = None


class MetaArgs(msgspec.Struct, gc=False):
    name: Any = None
    labels: Any = None


class Meta(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """Names a process or a thread."""

    name: str | None = None
    pid: Track = None
    tid: Track = None
    args: MetaArgs | None = None


class InstantArgs(Args, gc=False, frozen=True):
    """Arguments that include those of an instant, which the Python exporter of PyTorch 2.13 and 2.14 writes with a
    duration."""

    addr: Any = msgspec.field(default=-1, name="Addr")
    allocator_bytes: Any = msgspec.field(default=None, name="Bytes")
    allocator_device_type: Any = msgspec.field(default=None, name="Device Type")
    allocator_device: Any = msgspec.field(default=-1, name="Device Id")
    allocated: Any = msgspec.field(default=-1, name="Total Allocated")
    reserved: Any = msgspec.field(default=-1, name="Total Reserved")

    def of_allocator(self) -> MemoryArgs:
        device = self.allocator_device_type, self.allocator_device
        return MemoryArgs(self.addr, self.allocator_bytes, *device, self.allocated, self.reserved)


NO_INSTANT_ARGS = InstantArgs()


class Counter(msgspec.Struct, gc=False, tag_field="ph", tag="C"):
    """A sample of a counter. Those of GPUs are kept, the others are only counted."""

    ts: msgspec.Raw = MISSING
    name: Any = None
    pid: Any = None
    args: Any = None


class FlowStart(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """An end of an arrow that is only counted. Arrows between nodes of a graph have larger ids and are kept: such an id
    is rejected here, and the block is then read with `PlacedStart`."""

    id: Annotated[int, msgspec.Meta(lt=FIRST_DEPENDENCY)] | None = None


class FlowEnd(FlowStart, gc=False, tag="f"):
    """The other end of an arrow that is only counted."""


class PlacedStart(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """An end of an arrow, with its id, time and thread."""

    id: Any = None
    ts: msgspec.Raw = MISSING
    pid: Any = None
    tid: Any = None


class PlacedEnd(PlacedStart, gc=False, tag="f"):
    """The other end of such an arrow, with the same fields."""


#: Other arrows, asynchronous and object events: only counted.
COUNTED = [
    msgspec.defstruct(f"Phase_{ord(phase)}", [], tag_field="ph", tag=phase, gc=False)
    for phase in "tIRbenNODvVPSTpFca(),"
]
