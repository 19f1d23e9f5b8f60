"""Python functions of a training loop that do not compute through ops, in drawn traces without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.idle.python_work import PythonWork, python_work
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

NAMES = {
    "m": "train.py(1): <module>", "f": "model.py(3): forward", "c": "metrics.py(9): count", "l": "metrics.py(2): log",
    "s": "torch/serialization.py(944): save", "t": "torch/optim/sgd.py(70): step", "w": "pool.py(5): ask",
    "z": "<built-in function sleep>", "g": "<built-in function collect>", "o": "aten::mm",
}  # fmt: skip
WAIT = PythonWork(NAMES["z"], NAMES["w"], 4, 4_000, 4_000, 8_000, [], waits=True)
COLLECT = PythonWork(NAMES["g"], NAMES["w"], 4, 3_000, 5_000, 8_000, [])
COUNT = PythonWork(NAMES["c"], None, 4, 3_000, 4_000, 8_000, [])


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


@pytest.mark.parametrize(
    ("without", "steps"), [((0,), []), ((3,), []), ((1,), ["0", "2", "3"]), ((0, 1), ["2", "3"]), ((0, 3), ["1", "2"])]
)
def test_an_edge_of_the_recording_may_lack_the_call_of_a_function_of_every_step(
    without: tuple[int, ...], steps: list[str]
):
    """A loop that prepares its batch first does so before the first op, where the first inferred step begins."""
    marks, ops = "".join(str(step) * 10 for step in range(4)), "oooo......" * 4
    calls = "".join("." * 10 if step in without else "....cccc.." for step in range(4))
    (work,) = python_work(timeline(f"step | {marks} |\npython | {calls} |\nop | {ops} |", names=NAMES))
    assert work.steps == steps


def test_a_checkpoint_in_every_second_step_is_of_its_caller():
    steps, ops = "".join(str(step) * 10 for step in range(4)), "oooo......" * 4
    calls = "....ssss.." + "." * 10
    trace = timeline(f"step | {steps} |\npython | {'m' * 40} |\npython | {calls * 2} |\nop | {ops} |", names=NAMES)
    assert python_work(trace) == [
        PythonWork(NAMES["s"], NAMES["m"], 2, 2_000, 4_000, 8_000, ["0", "2"]),
    ]  # fmt: skip


def test_logging_is_that_of_the_function_that_the_script_calls():
    """What TensorBoard's writer calls in numpy takes most of it, and no loop calls that by itself."""
    names = NAMES | {
        "h": "torch/utils/tensorboard/writer.py(494): add_histogram",
        "i": "torch/utils/tensorboard/summary.py(358): histogram",
        "n": "numpy/_core/fromnumeric.py(939): sort",
    }  # fmt: skip
    steps, ops = "".join(str(step) * 10 for step in range(4)), "oooo......" * 4
    rows = ("m" * 40, "....hhhhhh" * 4, "....iiiii." * 4, "....nnnn.." * 4)
    frames = "\n".join(f"python | {row} |" for row in rows)
    (work,) = python_work(timeline(f"step | {steps} |\n{frames}\nop | {ops} |", names=names))
    assert (work.name, work.caller, work.ns) == (names["h"], NAMES["m"], 6_000)


def test_the_loop_itself_is_no_function_of_a_step():
    """main has as few ops as a function of a step, but the one to report is the function called in each step."""
    names = NAMES | {"d": "train.py(5): main"}
    steps, calls = "".join(str(step) * 10 for step in range(4)), "....cccc.." * 4
    ops = "oo........" * 4
    trace = timeline(f"step | {steps} |\npython | {'d' * 40} |\npython | {calls} |\nop | {ops} |", names=names)
    (work,) = python_work(trace)
    assert (work.name, work.ns, work.calls) == (NAMES["c"], 4_000, 4)


def of_steps(*drawn: str, width: int = 20, names: dict[str, str] | None = None, steps: int = 10) -> Trace:
    """Ten steps; a line that shows fewer is repeated."""
    marks = "".join("ab"[step % 2] * width for step in range(steps))
    lines = [line.split("|")[:2] for line in drawn]
    rows = [f"{kind}| {(cells.strip() * steps)[: width * steps]} |" for kind, cells in lines]
    return timeline("\n".join([f"step | {marks} |", *rows]), names=NAMES | (names or {}))


def test_all_calls_of_a_function_decide_whether_it_is_python():
    """`count` is mostly ops. In steps 3 and 7 another process interrupts a call, and less than a quarter of it is."""
    usual, stopped = "..........cc........", "..........cccccccccc"
    frames = "".join(stopped if step in (3, 7) else usual for step in range(10))
    assert python_work(of_steps(f"python | {frames} |", "op | oooo......oo........ |")) == []


def test_a_function_runs_in_the_steps_of_all_its_calls():
    """In steps 2 and 5 `count` is called by `report`, whose time it is; in the others it is called alone."""
    alone, inside = "oooo..cc............", "oooo......cc........"
    calls = "".join(inside if step in (2, 5) else alone for step in range(10)).replace("o", ".")
    outer = "".join("........rrrrrrrrrrr." if step in (2, 5) else "." * 20 for step in range(10))
    trace = of_steps(f"python | {outer} |", f"python | {calls} |", "op | oooo................ |", names={
        "r": "metrics.py(20): report",
    })  # fmt: skip
    assert {work.name: work.steps for work in python_work(trace)} == {
        "metrics.py(20): report": ["2", "5"], NAMES["c"]: [],
    }  # fmt: skip


def test_an_interruption_is_not_the_functions_time(monkeypatch):
    """One call of `count` of ten takes 60 us longer, in which the steady step finds an interruption."""
    usual = "oooo......cc........" + "." * 60
    stopped = "oooo......" + "c" * 62 + "........"
    calls = "".join(stopped if step == 4 else usual for step in range(10)).replace("o", ".")
    trace = of_steps(f"python | {calls} |", f"op | oooo{'.' * 76} |", width=80)
    (track,) = {int(each) for each in trace.events.thread}
    begin = (4 * 80 + 12) * 1000
    found = Excess(
        np.array([track], np.int32), np.array([begin]), np.array([begin + 60_000]),
        np.array([ExcessKind.INTERRUPTED], np.uint8), np.array([-1], np.int32),
    )  # fmt: skip
    monkeypatch.setattr("tb_steptime.metrics.idle.python_work.find_excess", lambda _: found)
    (work,) = python_work(trace)
    assert (work.name, work.ns, work.steps) == (NAMES["c"], 2_000, [])


def test_what_a_rare_call_always_takes_is_no_interruption(monkeypatch):
    """A checkpoint in two steps of ten: nothing shows that it could take less."""
    calls = "".join("......ssssssssss...." if step in (3, 8) else "." * 20 for step in range(10))
    trace = of_steps(f"python | {'m' * 200} |", f"python | {calls} |", "op | oooo................ |")
    (track,) = {int(each) for each in trace.events.thread}
    begins = np.array([(3 * 20 + 6) * 1000, (8 * 20 + 6) * 1000])
    found = Excess(
        np.full(2, track, np.int32), begins, begins + 9_000, np.full(2, ExcessKind.INTERRUPTED, np.uint8),
        np.full(2, -1, np.int32),
    )  # fmt: skip
    monkeypatch.setattr("tb_steptime.metrics.idle.python_work.find_excess", lambda _: found)
    (work,) = python_work(trace)
    assert (work.name, work.ns, work.steps) == (NAMES["s"], 2_000, ["3", "8"])


def test_many_short_calls_of_one_function_are_what_their_caller_does():
    """Each call of `log` is a small part of `count`; together they are most of it."""
    trace = of_steps(
        "python | ....ccccccccccccccc. |", "python | .....ll.ll.ll.ll.... |",
        "op     | oooo................ |",
    )  # fmt: skip
    (work,) = python_work(trace)
    assert (work.name, work.calls) == (NAMES["l"], 40)


TRAINING = {"i": "train.py(9): training_step", "b": "autograd::engine::evaluate_function: MmBackward0"}


def test_what_holds_a_pass_is_not_to_run_less():
    """Nine tenths of `training_step` are Python, most of them in `log`; but the forward and backward pass run there."""
    trace = of_steps(
        "python | iiiiiiiiiiiiiiiiiiii |", "python | ....llllllllllllll.. |", "op | o.b................. |",
        names=TRAINING,
    )  # fmt: skip
    assert [work.name for work in python_work(trace)] == [NAMES["l"]]


@pytest.mark.parametrize("inner", ["lightning/result.py(3): to", "<built-in method dumps of module object at 0x7f01>"])
def test_what_another_package_does_inside_the_function_that_a_script_calls_is_not_named(inner: str):
    """The script calls `log` of a package, which spends its time in what it calls."""
    names = {"m": "train.py(1): main", "l": "lightning/core.py(9): log", "c": inner}
    trace = of_steps(
        f"python | {'m' * 200} |", "python | ....lllllllllll..... |", "python | .....cccccccccc..... |",
        "op     | oooo................ |", names=names,
    )  # fmt: skip
    (work,) = python_work(trace)
    assert (work.name, work.caller) == (names["l"], names["m"])


def test_built_in_methods_of_different_objects_are_one_function():
    """Names of built-in methods end with the object's address."""
    methods = {"p": "<built-in method item of Tensor object at 0x7f01>"}
    methods["q"] = methods["p"].replace("0x7f01", "0x7f02")
    trace = of_steps(
        f"python | {'m' * 400} |", "python | ......pppp................qqqq.......... |",
        "op     | oooo................oooo................ |", names=methods | {"m": "train.py(1): main"},
    )  # fmt: skip
    (work,) = python_work(trace)
    assert (work.calls, work.steps) == (10, [])
