"""What each reason to be idle is called, means, and is drawn in; the order is that of `IdleNs` and of every picture."""

from __future__ import annotations

from tb_steptime.metrics.base import PartMeaning


def _reason(id: str, label: str, meaning: str, colour: str, hatched: bool = False) -> PartMeaning:
    return PartMeaning(id, label, meaning, colour, hatched, works=False)


IDLE_MEANINGS = (
    _reason("data_loading", "Data loading", "The main process waits for a batch.", "data"),
    _reason("blocking_call", "Blocking call",
            "The host is inside a call that waits for the GPU, such as a synchronize or a copy of pageable memory.",
            "blocking"),
    _reason("allocator", "Allocator", "The host allocates or frees GPU memory through the driver.", "blocking", True),
    _reason("cpu_work", "CPU work", "The host runs ops or calls on its way to the next launch.", "cpu"),
    _reason("nothing_recorded", "Outside ops",
            "No op or call is recorded on the launching thread: Python between ops, or a paused process. Recorded call "
            "stacks name the Python code.", "other"),
    _reason("launch_latency", "Launch latency",
            "The launch call has begun, but its work has not started on the GPU.", "runtime"),
    _reason("queued", "Gap", "The next work is already launched: a hardware gap of at most 10 µs.", "other", True),
    _reason("collective_wait", "Wait before a collective",
            "The next work is a collective: it is launched, but waits for other ranks, a stream or an event.", "comm"),
    _reason("dependency", "Dependency",
            "The next work is launched, but waits for another stream, another GPU or an event.", "comm", True),
    _reason("unrecorded_work", "Unrecorded work",
            "The GPU is busy with work that this trace does not show: a launch, a synchronize or a copy waits for it.",
            "kernel", True),
    _reason("unknown", "Unknown", "The launch of the next work is not in the trace.", "other", True),
    _reason("tail", "Tail", "The GPU has done its last work in this recording.", "other", True),
    _reason("before_recording", "Before recording",
            "The GPU runs work that was launched before the recording began. Not counted in verdicts and gains.",
            "other", True),
    _reason("once", "Once", "The host compiles, loads or sets up what later steps have. Not counted in verdicts and "
            "gains.", "other", True),
    _reason("after_recording", "After recording",
            "The recording ends before the GPU's next work. Not counted in verdicts and gains.", "other", True),
    _reason("profiler", "Profiler",
            "The profiler itself works, and the job waits for it. Not counted in verdicts and gains.", "other", True),
)  # fmt: skip
