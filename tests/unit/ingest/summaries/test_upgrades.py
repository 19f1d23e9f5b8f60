"""How results of earlier formats become those of today."""

from __future__ import annotations

import re

import msgspec
import pytest

from tb_steptime.analyses.host import HostResult
from tb_steptime.ingest.summaries import from_0_1, upgrades
from tb_steptime.ingest.summaries.layout import FORMAT
from tb_steptime.ingest.summaries.upgrades import upgraded
from tb_steptime.insights.wording.reasons import REASONS


def test_every_format_before_this_one_has_its_step():
    assert sorted(upgrades._STEPS) == list(range(1, FORMAT))


def test_codes_of_old_sentences_have_words_that_need_no_other_values():
    for sentence, code in from_0_1.CODES.items():
        assert places(REASONS[code]) <= places(sentence), code


def places(template: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", template))


@pytest.mark.parametrize("line", [b"[]", b"7", b"{}", b'{"answer": {"figures": []}}', b"null"])
@pytest.mark.parametrize("format", [-1, 0, 1])
def test_what_is_no_result_is_refused(line, format):
    with pytest.raises(ValueError, match=r"format|missing|Object"):
        upgraded(line, format, "host", HostResult)


def test_a_result_of_this_format_is_not_touched():
    with pytest.raises(msgspec.ValidationError):
        upgraded(b"{}", FORMAT, "host", HostResult)
