"""The commands of the tutorial print what the page shows, on the recordings of the demo."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest

from tests import PROJECT

PAGE = (PROJECT / "docs" / "tutorial.md").read_text("utf-8")
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: A line of the page in place of output that is left out.
_CUT = "...\n"


def shown() -> list[tuple[str, list[str]]]:
    """Each command with the texts that the page shows of its output."""
    pairs: list[tuple[str, list[str]]] = []
    for kind, text in _BLOCK.findall(PAGE):
        if kind == "sh":
            pairs.append((text.strip(), []))
        else:
            pairs[-1][1].extend(text.split(_CUT))
    return pairs


@pytest.mark.parametrize(("command", "texts"), shown(), ids=[command for command, _ in shown()])
def test_a_command_prints_what_the_page_shows(command: str, texts: list[str]) -> None:
    program, *arguments = shlex.split(command)
    assert program == "tb-steptime" and texts
    done = subprocess.run(
        [sys.executable, "-m", "tb_steptime", *arguments],
        cwd=PROJECT,
        env=os.environ | {"COLUMNS": "80", "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    rest = done.stdout
    for text in texts:
        _, found, rest = rest.partition(text)
        assert found, f"not printed, or not in this order:\n{text}\n{done.stdout}"
