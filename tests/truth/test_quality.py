"""Damage of every kind is found wherever it changes a figure, and nothing is found where nothing is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tb_steptime.trace.quality import recording_findings
from tests.drawn.real_traces import read_real, real_path
from tests.truth.quality.damage import RULES, Rule
from tests.truth.quality.scores import DEMO, REAL, Score, scored

#: Of damage that changes a figure by more than 2 %.
RECALL = 0.95
#: A launch takes 3 to 12 us and the trace does not say how many, which alone changes a few of the figures by 2 %.
MENDED = 0.9

#: What an expert finds on traces that nobody touched.
KNOWN = {
    "a100_ddp_bucketed_gpu_only.json.gz": ["marks_meaningless"],
    "a100_zoology_no_kernels.json.gz": ["work_not_recorded"],
    "l40_llm_eager.json.gz": ["end_missing"],
    "mi300_resnet18_train_stacks_mem.json.gz": ["caching_off"],
    "rtx4080l_nano_vllm_decode.json.gz": ["launches_lost"],
}
#: Real ones of several kinds; `python -m tests.truth.quality` takes all.
SOME = ("rtx5080_train_eager", "h800_deepseek_v3_train", "a100_qlora_bnb", "gh200_transformer_infer", "t4_train_fp32")


def _found(paths: Sequence[Path], rule: Rule) -> list[Score]:
    return scored(((path.name, read_real(path)) for path in paths), [rule])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_damage_of_simulated_recordings_is_found(rule: Rule) -> None:
    scores = _found(DEMO[::3], rule)
    changed, found = sum(each.changed for each in scores), sum(each.found for each in scores)
    assert changed >= len(rule.strengths)
    assert found >= RECALL * changed, [(each.strength, each.missed) for each in scores]
    if rule.repairs:
        assert sum(each.mended for each in scores) >= MENDED * found, [(each.strength, each.off) for each in scores]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_damage_of_real_recordings_is_found(rule: Rule) -> None:
    real_path("traces_world")
    paths = [path for path in REAL if path.name.removesuffix(".json.gz") in SOME]
    scores = _found(paths, rule)
    changed, found = sum(each.changed for each in scores), sum(each.found for each in scores)
    assert found >= RECALL * changed > 0, [(each.strength, each.missed) for each in scores]


@pytest.mark.parametrize("path", DEMO, ids=lambda path: path.parent.name)
def test_nothing_is_found_on_simulated_recordings(path: Path) -> None:
    assert recording_findings(read_real(path)) == ()


def test_only_what_is_wrong_is_found_on_real_recordings() -> None:
    real_path("traces_world")
    found = {path.name: [each.id for each in recording_findings(read_real(path))] for path in REAL}
    assert {name: ids for name, ids in found.items() if ids} == {name: KNOWN[name] for name in KNOWN if name in found}
