"""Output to a file or a pipe is UTF-8, even where the machine has another code page."""

from __future__ import annotations

import io

import pytest

from tb_steptime.cli import write_utf8


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("opened", "chosen", "written"), [
    (io.BytesIO, None, "5 × µs █".encode()),
    (io.BytesIO, "cp437", "5 ? æs █".encode("cp437")),
    (Terminal, None, "5 ? æs █".encode("cp437")),
])  # fmt: skip
def test_signs_that_a_code_page_has_not(opened, chosen, written, monkeypatch):
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    if chosen:
        monkeypatch.setenv("PYTHONIOENCODING", chosen)
    opened_file = opened()
    stream = io.TextIOWrapper(opened_file, encoding="cp437", errors="replace")
    write_utf8(stream)
    stream.write("5 × µs █")
    stream.flush()
    assert opened_file.getvalue() == written.replace("æ".encode("cp437"), "µ".encode("cp437"))
