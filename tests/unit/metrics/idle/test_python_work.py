"""Python functions of a training loop that do not compute through ops, in drawn traces without a GPU."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.python_work import PythonWork, python_work
from tests.drawn.timeline import timeline

NAMES = {
    "m": "train.py(1): <module>", "f": "model.py(3): forward", "c": "metrics.py(9): count", "l": "metrics.py(2): log",
    "s": "torch/serialization.py(944): save", "t": "torch/optim/sgd.py(70): step", "w": "pool.py(5): ask",
    "z": "<built-in function sleep>", "g": "<built-in function collect>", "o": "aten::mm",
}  # fmt: skip
WAIT = PythonWork(NAMES["z"], NAMES["w"], 4, 4_000, 4_000, 4_000, 8_000, [], waits=True)
COLLECT = PythonWork(NAMES["g"], NAMES["w"], 4, 3_000, 3_000, 5_000, 8_000, [])
COUNT = PythonWork(NAMES["c"], None, 4, 3_000, 3_000, 4_000, 8_000, [])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # ops inside the function are not Python; frames called inside count for the outer call
        ("python | ffffcccc.. |\npython | .....ll... |\nop     | oooo...o.. |", [COUNT]),
        # ops take more than a quarter of the call
        ("python | ffffcccc.. |\nop     | oooo..oo.. |", []),
        # the script itself and torch call ops through Python; built-in functions that wait are separate
        ("python | ....tttt.. |\nop     | oooo...... |", []),
        ("python | ....wwww.. |\npython | ....zzzz.. |\nop     | oooo...... |", [WAIT]),
        # a built-in function that takes most of a call describes the call
        ("python | ....wwww.. |\npython | .....ggg.. |\nop     | oooo...... |", [COLLECT]),
        ("op     | oooo...... |", []),
    ],
)  # fmt: skip
def test_a_function_that_runs_in_every_step(rows: str, expected: list[PythonWork]):
    drawn = [(kind, marks * 4) for kind, marks in (row.replace("|", "").split() for row in rows.splitlines())]
    trace = timeline(
        "\n".join(f"{kind} | {marks} |" for kind, marks in [
            ("step", "".join(str(step) * 10 for step in range(4))), ("python", "m" * 40), *drawn,
        ]),
        names=NAMES,
    )  # fmt: skip
    assert python_work(trace) == expected


def test_a_checkpoint_in_every_second_step_is_of_its_caller():
    steps, ops = "".join(str(step) * 10 for step in range(4)), "oooo......" * 4
    calls = "....ssss.." + "." * 10
    trace = timeline(f"step | {steps} |\npython | {'m' * 40} |\npython | {calls * 2} |\nop | {ops} |", names=NAMES)
    assert python_work(trace) == [
        PythonWork(NAMES["s"], NAMES["m"], 2, 2_000, 4_000, 4_000, 8_000, ["0", "2"]),
    ]  # fmt: skip


def test_the_loop_itself_is_no_function_of_a_step():
    """main has as few ops as a function of a step, but the one to report is the function called in each step."""
    names = NAMES | {"d": "train.py(5): main"}
    steps, calls = "".join(str(step) * 10 for step in range(4)), "....cccc.." * 4
    ops = "oo........" * 4
    trace = timeline(f"step | {steps} |\npython | {'d' * 40} |\npython | {calls} |\nop | {ops} |", names=names)
    (work,) = python_work(trace)
    assert (work.name, work.ns, work.calls) == (NAMES["c"], 4_000, 4)
