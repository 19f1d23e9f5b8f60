"""Another thread that runs Python while the training's thread runs no op, in drawn traces."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.python_work import HeldInterpreter, held_interpreter, python_work
from tests.drawn.timeline import timeline

NAMES = {
    "m": "train.py(21): loop", "f": "data.py(5): make", "t": "threading.py(982): run", "s": "<built-in function sleep>",
    "d": "<built-in method decode of ImagingDecoder object at 0x7f01>", "o": "aten::mm", "n": "nn.Module: Net_0",
    "c": "<built-in function len>", "g": "queue.py(154): get",
    "r": "<built-in method release of _thread.lock object at 0x7f02>",
}  # fmt: skip
MAKE = HeldInterpreter("feeder", NAMES["f"], 7_000, 1.0)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("python @feeder | ffffffffff |", MAKE),
        ("python @feeder | tttttttttt |\npython @feeder | ffffffff.. |", MAKE),
        ("python @feeder | ffffffffff |\npython @feeder | ...sssssss |", None),  # it waits
        ("python @feeder | ffffffffff |\npython @feeder | ...dddddd. |", None),  # perhaps it needs no interpreter
        ("python @feeder | ffffffffff |\nop feeder | ...oooooo. |", None),  # its ops need none
        ("python @feeder | ffffffffff |\npython @feeder | .nnnnnnn.. |", None),  # it runs a model
        ("python @feeder | ff......ff |", None),  # less than half of the time
        ("python @feeder | tttttttttt |", None),  # no function of the user's
    ],
)  # fmt: skip
def test_a_thread_that_runs_python_while_no_op_runs(other: str, expected: HeldInterpreter | None):
    steps = "".join(str(step) * 10 for step in range(4))
    lines = [line.split("|")[:2] for line in other.splitlines()]
    rows = [f"{label}| {cells.strip() * 4} |" for label, cells in [*lines, ("python @feeder ", "c.........")]]
    drawn = "\n".join([f"step | {steps} |", f"python | {'m' * 40} |", f"op main | {'ooo.......' * 4} |", *rows])
    assert held_interpreter(timeline(drawn, names=NAMES)) == expected


@pytest.mark.parametrize(("returns", "expected"), [("c", MAKE), (".", None)])
def test_a_thread_may_wait_in_a_call_from_before_the_recording(returns: str, expected: HeldInterpreter | None):
    """As the monitor of tqdm does, whose innermost recorded frame is threading.py: wait."""
    steps = "".join(str(step) * 10 for step in range(4))
    drawn = f"step | {steps} |\npython | {'m' * 40} |\nop main | {'ooo.......' * 4} |"
    frames = f"python @feeder | {'f' * 40} |\npython @feeder | .{returns}{'.' * 38} |"
    assert held_interpreter(timeline(f"{drawn}\n{frames}", names=NAMES)) == expected


def test_what_passes_a_lock_on_takes_no_time_of_its_own():
    steps = "".join(str(step) * 10 for step in range(4))
    frames = f"python | {'....ggggg.' * 4} |\npython | {'.....rrrr.' * 4} |"
    trace = timeline(f"step | {steps} |\npython | {'m' * 40} |\n{frames}\nop | {'oooo......' * 4} |", names=NAMES)
    (work,) = python_work(trace)
    assert (work.name, work.ns) == (NAMES["g"], 1_000)
