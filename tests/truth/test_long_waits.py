"""In a training that prepares each batch in Python while the GPU waits, the function and its busiest call are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_steptime.metrics.idle.long_gaps import KEPT
from tb_steptime.text.printer import plain
from tests.drawn.cards import card_sentence
from tests.truth.simulate.causes import Op, Section, Span, Training
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.judging import judged_training
from tests.truth.simulate.mixtures import FORWARD, PLAIN, US, insert

PREPROCESS = "/home/me/data.py(41): preprocess"
NORMALIZE, CROP, PAD = CALLS = [
    f"/home/me/data.py({line}): {name}" for line, name in enumerate(("normalize", "crop", "pad"))
]
Range = tuple[int, int]


def prepared(*images: int) -> Training:
    """Before the forward pass each call handles this many images, 600 us each. All waits of so few steps are kept."""
    calls = [call for call, many in zip(CALLS, images, strict=True) for _ in range(many)]
    ops = tuple(Op(("aten::sub",), (), 600 * US, exact=True, frame=call) for call in calls)
    return replace(insert(PLAIN, FORWARD, Section(ops, python_ns=20 * US, frames=(PREPROCESS,))), active=KEPT)


def ranges(span: Span, *names: str, category: str = "python_function") -> list[Range]:
    rows = [row for row in span.rows if row.category == category]
    return sorted((row.start_ns, row.end_ns) for row in rows if not names or row.name in names)


def waits(span: Span) -> list[Range]:
    """The wait in which each preprocess ends: from the end of the last kernel
    before that to the start of the next one."""
    kernels = ranges(span, category="kernel")
    return [
        (
            max([span.marks[0][1], *(last for _, last in kernels if last < end)]),
            min(at for at, _ in kernels if at > end),
        )
        for _, end in ranges(span, PREPROCESS)
    ]


def within(calls: list[Range], wait: Range) -> int:
    return sum(max(0, min(end, wait[1]) - max(start, wait[0])) for start, end in calls)


@pytest.mark.parametrize(("images", "busiest"), [((40, 8, 0), NORMALIZE), ((8, 40, 0), CROP), ((16, 16, 16), None)])
def test_the_wait_names_the_function_and_its_busiest_call(images: tuple[int, ...], busiest: str | None):
    """The busiest call is None if no call takes most of the time. Its time is
    exact, and not above that of the function."""
    training = prepared(*images)
    (span,), found = simulate(training), judged_training(training)
    gaps = sorted((gap for row in found.host.long_gaps for gap in row.longest), key=lambda gap: gap.start_ns)
    of_call = [] if busiest is None else ranges(span, busiest)
    assert [(gap.name, gap.busiest, gap.busiest_ns) for gap in gaps] == [
        (PREPROCESS, busiest, within(of_call, wait)) for wait in waits(span)
    ]
    own = [within(ranges(span, PREPROCESS), wait) for wait in waits(span)]
    assert all(gap.busiest_ns <= most for gap, most in zip(gaps, own, strict=True))


def test_the_card_says_so():
    judgement = judged_training(prepared(40, 8, 0)).judgement
    assert plain(judgement.verdict.text).replace("\xa0", " ") == (
        "The CPU sets the pace, most of the time in data.py:41 preprocess."
    )
    insights = judgement.insights
    assert [(insight.id, card_sentence(insight)) for insight in insights] == [(
        "long_stretches",
        "5 long waits, of up to 58.6 ms, leave the GPU idle while the CPU is in data.py:41 preprocess, up to 48.0 ms "
        "of it in normalize.",
    )]  # fmt: skip
