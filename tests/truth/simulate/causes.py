"""What a simulated training is made of. Everything that the model needs to know is declared here, in ns and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Gpu:
    """A card as `deviceProperties` describes it."""

    name: str
    memory_bytes: int
    compute_capability: tuple[int, int]
    sm_count: int
    registers_per_sm: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_sm: int
    max_threads_per_sm: int = 2048
    max_blocks_per_sm: int = 32

    @property
    def amd(self) -> bool:
        """Recorded by roctracer: calls have other names, and kernels have only their grid."""
        return self.name.startswith("AMD")


A100 = Gpu("NVIDIA A100-SXM4-80GB", 85_097_971_712, (8, 0), 108, 65536, 49152, 166912, 167936)
H100 = Gpu("NVIDIA H100 80GB HBM3", 85_018_279_936, (9, 0), 132, 65536, 49152, 232448, 233472)
V100 = Gpu("Tesla V100-SXM2-16GB", 16_945_512_448, (7, 0), 80, 65536, 49152, 98304, 98304)
MI300X = Gpu("AMD Instinct MI300X", 206_141_652_992, (9, 4), 304, 65536, 65536, 65536, 65536)


@dataclass(frozen=True)
class Activity:
    """What runs on the device. kind is Kineto's category: kernel, gpu_memcpy or gpu_memset."""

    kind: str
    name: str
    dur_ns: int
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    registers: int = 0
    shared_memory: int = 0
    nbytes: int = 0
    tensor_core: bool = False
    waits_for: int | None = None  # a device whose work so far must be done before it starts
    stream: int = 0  # 0 is the one on which everything else runs
    recorded: bool = True  # False: the device works on it, and the trace does not show it
    facts: tuple[tuple[str, Any], ...] = ()  # further facts that Kineto writes about it


@dataclass(frozen=True)
class Call:
    """A runtime call. With blocks=True it returns when its activity, or without one everything launched, is done.

    No name: time that leaves no record. host_ns: its own length on the host, exactly; None: that of the training's
    calls. nodes: what else it launches: the nodes of a graph after the first. joins: from now on the first stream waits
    for all that the second has been given.
    """

    name: str
    activity: Activity | None = None
    blocks: bool = False
    host_ns: int | None = None
    nodes: tuple[Activity, ...] = ()
    joins: tuple[int, int] | None = None
    driver: bool = False  # a call of the driver API, not of the runtime API


@dataclass(frozen=True)
class Op:
    """Nested CPU ops, the outermost first; the innermost makes the calls. host_ns is their time outside the calls.

    link: ties an op of the forward pass to the node of the backward pass that it makes. exact: it takes its declared
    time to the nanosecond and draws no random number, so that all else draws the same ones without it. No names: calls
    that Python makes outside any op.
    """

    names: tuple[str, ...]
    calls: tuple[Call, ...] = ()
    host_ns: int = 12_000
    shapes: tuple[tuple[int, ...], ...] = ()
    types: tuple[str, ...] = ()
    link: str | None = None
    exact: bool = False
    facts: tuple[tuple[str, Any], ...] = ()  # further facts that the profiler writes about the innermost
    frame: str | None = None  # the Python function that consists only of it


@dataclass(frozen=True)
class Section:
    """Ops one after the other on a thread, with unrecorded Python time before each."""

    ops: tuple[Op, ...]
    mark: str | None = None  # a host-side annotation around them
    backward: bool = False  # on the autograd engine's thread, while the main thread waits
    python_ns: int = 3_000
    device: int = 0  # the device of its work; the autograd engine has a thread for each
    aside: bool = False  # begins with the section before it and not after it: another device's autograd thread
    stop_ns: int = 0  # after its ops the main thread stops for exactly this long
    collects: bool = False  # the stop is a garbage collection that the profiler was set to record
    steps: tuple[int, ...] = ()  # only in these steps; empty: in each
    frames: tuple[str, ...] = ()  # the main thread's Python frames around it, the outermost first
    regions: tuple[str, ...] = ()  # CPU ops around it, such as a compiled region


@dataclass(frozen=True)
class Loader:
    """A DataLoader. batch_ns: how long one worker (without workers: the main thread) needs for one batch."""

    batch_ns: int
    workers: int = 0
    prefetch: int = 2
    jitter: float = 0.0  # standard deviation of a batch's production time, as a share of it
    receive_ns: int = 150_000  # on the main thread: taking a finished batch from the queue

    @property
    def iterator(self) -> str:
        return "_MultiProcessingDataLoaderIter" if self.workers else "_SingleProcessDataLoaderIter"


@dataclass(frozen=True)
class Recording:
    """How a training is recorded.

    head: what the device still does when the recording begins. "drained": nothing, the profiler has waited for it;
    "hidden": earlier work, of which no record tells; "unlinked": earlier work, recorded without the calls that launched
    it. tail: "drained", or "cut": what has not started by the end is missing. marks: the loop calls `prof.step()`.
    without: categories of which nothing is recorded.
    """

    head: str = "drained"
    tail: str = "drained"
    marks: bool = True
    shapes: bool = True
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Training:
    """A loop: next batch, then the sections. `cause` says in words why the step takes as long as it does."""

    name: str
    cause: str
    loader: Loader | None
    sections: tuple[Section, ...]
    seed: int
    gpu: Gpu = A100
    wait: int = 3
    warmup: int = 3
    active: int = 15
    spans: int = 2
    host_factor: float = 2.0  # how much slower the host is than the ops' declared times: profiling costs about this
    host_jitter: float = 0.05
    device_jitter: float = 0.01
    call_ns: int = 7_000  # for a launch that finds room in the queue
    latency_ns: int = 4_000  # from the end of a launch to its start on an idle stream
    gap_ns: int = 1_200  # between two activities of a busy stream
    queue_limit: int = 1024  # launches that can wait; one more blocks the host until there is room
    between_steps_ns: int = 60_000  # the profiler's and the loop's own time
    devices: int = 1
    in_full: bool = False  # its truth includes each device, blocking calls and their bubbles
    recording: Recording = Recording()
    ranks: int = 1  # of which this is the first one


@dataclass
class Row:
    """One record of the model. thread: main, backward or stream; the latter two are the device's."""

    category: str
    name: str
    thread: str
    start_ns: int
    end_ns: int
    external_id: int = -1
    correlation_id: int = -1
    activity: Activity | None = None
    op: Op | None = None
    blocks: bool = False
    device: int = 0
    sequence: int = -1


@dataclass
class Span:
    """What was recorded in one window: rows in the order in which they were made, steps as (number, start, end)."""

    start_ns: int
    end_ns: int = 0
    rows: list[Row] = field(default_factory=list)
    marks: list[tuple[int, int, int]] = field(default_factory=list)
    stops: list[tuple[int, int]] = field(default_factory=list)  # when Python stopped
    truth: dict[str, Any] = field(default_factory=dict)
