"""Generation that computes all earlier tokens again, on drawn traces."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tb_steptime.metrics.steps.without_cache import WithoutCache, without_cache
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Trace
from tests.drawn.cards import card, card_sentence, sure
from tests.drawn.timeline import timeline

#: Of seven repetitions.
TOKENS = (8, 9, 10, 11, 12, 13, 14)


class Repetition(NamedTuple):
    """In order: tokens are embedded, products take `product` cells, and `new` tokens are put behind `tokens`."""

    embedded: int
    product: int
    tokens: int = 0
    new: int = 1
    masks: bool = False


def drawn(repetitions: list[Repetition], *, causal: str = "True", gpu: bool = False, trains: bool = False) -> Trace:
    """Each repetition is a step, with 5 cells in which no product runs."""
    names, inputs, ops, marks = {"p": "aten::addmm", "n": f"{NODE}MmBackward0"}, dict[str, tuple[str, ...]](), "", ""

    def op(name: str, shapes: str, cells: int, settings: str = "[]") -> str:
        char = chr(0x100 + len(inputs))
        names[char], inputs[char] = name, (shapes, '["float","float","float"]', settings)
        return char * cells

    for place, each in enumerate(repetitions):
        cells = op("aten::embedding", f"[[100,16],[2,{each.embedded}],[]]", 1)
        shape = f"[2,4,{each.embedded},8]"
        settings = f'["","","","0.","{causal}"]'
        cells += "p" * each.product + op(
            "aten::_scaled_dot_product_flash_attention", f"[{shape},{shape},{shape},[],[]]", 1, settings
        )
        joined = f"[[[2,{each.tokens}],[2,{each.new}]],[]]"
        cells += (op("aten::cat", joined, 1) if each.tokens else ".") + (
            op("aten::cat", joined, 1) if each.masks else "."
        )
        cells += ("n" if trains else ".") + "."
        ops, marks = ops + cells, marks + str(place) * len(cells)
    device = f"runtime | {'.' * (len(ops) - 2)}k. |\nkernel 7 | {'.' * (len(ops) - 1)}k |" if gpu else ""
    return timeline(f"step | {marks} |\nop | {ops} |\n{device}", names=names, inputs=inputs)


def uncached(take: tuple[int, ...], **options: bool) -> list[Repetition]:
    return [Repetition(tokens, cells, tokens, **options) for tokens, cells in zip(TOKENS, take, strict=True)]


#: Two cells for each token; the same but for noise that says nothing of one token; the same for any number.
EVEN, NOISY = tuple(2 * tokens for tokens in TOKENS), (18, 25, 14, 30, 17, 29, 20)


def test_by_how_much_longer_more_tokens_take():
    """2 us for each of the 10.5 tokens after the first one: between two joins, 9 to 14 tokens are computed."""
    assert without_cache(drawn(uncached(EVEN))) == WithoutCache(6, 9, 14, 1, 21_000, True, True)


def test_by_the_work_of_products_where_repetitions_vary():
    earlier = [(cells + 1) * (1 - 1 / tokens) for tokens, cells in zip(TOKENS, NOISY, strict=True)][1:]
    found = without_cache(drawn(uncached(NOISY)))
    assert found == WithoutCache(6, 9, 14, 1, round(1000 * sum(earlier) / 6), False, True)


def test_on_a_gpu_fewer_tokens_may_take_as_long():
    assert without_cache(drawn(uncached(NOISY), gpu=True)) == WithoutCache(6, 9, 14, 1, None, False, True)


def test_masks_may_grow_beside_the_tokens():
    assert without_cache(drawn(uncached(EVEN, masks=True))) == WithoutCache(6, 9, 14, 1, 21_000, True, True)


@pytest.mark.parametrize(
    "repetitions",
    [
        [Repetition(1, 8, tokens) for tokens in TOKENS],  # a cache: only the new token is embedded
        [Repetition(tokens, 2 * tokens) for tokens in TOKENS],  # texts sorted by length
        [Repetition(tokens, 2 * tokens, 14) for tokens in TOKENS],  # other tensors are joined
        [Repetition(8, 16, 8) for _ in TOKENS],  # cut to the model's length
        [Repetition(tokens, 2 * tokens, tokens, new) for tokens, new in zip(TOKENS, (1, 2) * 4, strict=False)],
        uncached(EVEN)[:5],  # too few
    ],
)
def test_other_repetitions_do_not_compute_tokens_again(repetitions: list[Repetition]):
    trace = drawn(repetitions)
    assert without_cache(trace) is None
    assert card(trace, "without_cache") is None


def test_training_on_longer_texts_is_another_matter():
    assert without_cache(drawn(uncached(EVEN), trains=True)) is None


def test_the_card_is_as_sure_as_the_mask_and_the_time():
    causal, masked, unknown = (
        sure(drawn(uncached(take), causal=flag, gpu=gpu), "without_cache")
        for take, flag, gpu in ((EVEN, "True", False), (EVEN, "False", False), (NOISY, "True", True))
    )
    assert card_sentence(causal) == "6 repetitions compute 9 to 14 tokens of each text, of which 1 is new."
    assert [(each.gain_ns, each.severity.value, each.confidence.value) for each in (causal, masked, unknown)] == [
        (21_000, "major", "medium"),
        (21_000, "minor", "low"),
        (0, "minor", "medium"),
    ]
