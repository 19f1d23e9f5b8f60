"""Figures and lines that the terminal and the tab both write: the tab's tests read the same cases."""

import json
from pathlib import Path

import pytest

from tb_steptime.text.frames import code_line
from tb_steptime.text.printer import GAP, percent

SPELLINGS = json.loads(Path(__file__).with_name("spellings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("fraction", "written"), SPELLINGS["shares"])
def test_a_share_in_a_sentence(fraction: float, written: str) -> None:
    assert percent(fraction).replace(GAP, " ") == written


@pytest.mark.parametrize(("frame", "written"), SPELLINGS["frames"])
def test_a_line_of_code(frame: str, written: str) -> None:
    assert code_line(frame) == written
