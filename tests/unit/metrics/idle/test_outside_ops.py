"""The Python function that takes most of a step without a GPU, in drawn traces."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.idle.outside_ops import PythonFunction, python_function
from tests.drawn.timeline import timeline

NAMES = {
    "m": "train.py(80): main", "p": "data.py(41): preprocess", "n": "data.py(7): normalize", "c": "data.py(9): crop",
    "t": "torch/nn/functional.py(3): gelu", "o": "aten::sub", "g": "/usr/lib/python3.12/queue.py(154): get",
    "l": "<built-in method acquire of _thread.lock object at 0x7f5a944a2a00>",
}  # fmt: skip
NAMES |= {"s": "sklearn/base.py(5): fit", "w": "numpy/core/fromnumeric.py(51): _wrapfunc"}
FIT = NAMES["s"]
GET, LOCK = "queue.py(154): get", NAMES["l"]
PREPROCESS, NORMALIZE, CROP = NAMES["p"], NAMES["n"], NAMES["c"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("python | ............... |", None),
        ("python | .pppppppppp.... |", PythonFunction("0", 1_000, 11_000, 15_000, PREPROCESS, 10_000)),
        (
            "python | .pppppppppp.... |\npython | .nnn.nnnn.cc... |",
            PythonFunction("0", 1_000, 11_000, 15_000, PREPROCESS, 10_000, NORMALIZE, 7_000),
        ),
        # what runs inside an op does not count as Python; frames of torch count for their caller
        (
            "python | .pppppppppp.... |\npython | ..tttt......... |\nop | .......oo...... |",
            PythonFunction("0", 1_000, 11_000, 13_000, PREPROCESS, 10_000),
        ),
        # no single call takes half of the step; the loop around the steps is longer than a step
        (
            "python | nn.nn.nn.nn.nn. |\npython | n..n..c..n..n.. |",
            PythonFunction("0", 0, 14_000, 15_000, NORMALIZE, 10_000),
        ),
        ("python | nnn.ccc.nnn.... |", None),
        # no function of the user: a function of Python's library shows what it waits for
        (
            "python | ggg.gggggg.ggg. |\npython | .l..lllll..ll.. |",
            PythonFunction("0", 0, 14_000, 15_000, GET, 12_000, LOCK, 8_000),
        ),
        ("python | .tttttttttttt.. |", None),
        # a private function of a package is named by the one that calls it
        ("python | ssssssssss..... |\npython | .wwwwwwwww..... |", PythonFunction("0", 0, 10_000, 15_000, FIT, 10_000)),
    ],
)  # fmt: skip
def test_the_function_that_holds_most_of_what_is_outside_of_ops(rows: str, expected: PythonFunction | None):
    whole = "python | mmmmmmmmmmmmmmmmmm |"
    padded = "\n".join(f"{row.rsplit('|', 1)[0].rstrip()}... |" for row in rows.splitlines())
    trace = timeline(f"step | 000000000000000... |\n{whole}\n{padded}", names=NAMES)
    assert python_function(trace) == expected


ARGWHERE, NONZERO = "numpy/_core/numeric.py(624): argwhere", "numpy/_core/fromnumeric.py(1993): nonzero"


@pytest.mark.parametrize(
    ("ops", "script", "name", "ns"),
    [
        ("...............", "net.py(40): forward", ARGWHERE, 12_000),
        # a function that runs ops, as a trainer does, is no single call of the script
        (".o.............", "net.py(40): forward", NONZERO, 8_000),
        # numpy's own script
        ("...............", "numpy/tests/bench.py(40): forward", NONZERO, 8_000),
    ],
)
def test_what_the_script_calls_of_a_package_is_named_and_not_what_that_calls(ops: str, script: str, name: str, ns: int):
    trace = timeline(
        f"""
        step   | 000000000000000... |
        python | ssssssssssssssssss |
        python | fffffffffffffff... |
        python | .aaaaaaaaaaaa..... |
        python | ..zzzzzzzz........ |
        op     | {ops}... |""",
        names={"s": script.replace("forward", "<module>"), "f": script, "a": ARGWHERE, "z": NONZERO, "o": "aten::sub"},
    )
    found = python_function(trace)
    assert found is not None
    assert (found.name, found.in_ns) == (name, ns)


def test_nothing_is_known_without_stacks():
    assert python_function(timeline("step | 0000 |\nop | .oo. |", names=NAMES)) is None
