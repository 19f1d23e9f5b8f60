"""`source_text`: the text of one file that a recording names, and which of its lines the recording's lines are."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.sources.folder import file_in
from tb_steptime.ingest.sources.functions import Function, functions_of
from tb_steptime.ingest.sources.recorded import recorded_sources
from tb_steptime.metrics.operators.lines import LineOf
from tb_steptime.text.frames import source_line

#: Environment variable with folders that hold the sources of jobs, separated as in PATH.
VARIABLE = "TB_STEPTIME_SOURCES"

#: What a recorded line is in the text: the beginning of a function, a line that ran, or a line that an unfinished
#: function had reached. "other": the text does not agree with the recording.
Meaning = Literal["function", "call", "reached", "other"]


class SourceMark(msgspec.Struct, frozen=True):
    """A recorded line in its file. source: the name of the row that it is from; first, last: the lines of the function,
    or the same line twice; 0 for "other"."""

    source: str
    meaning: Meaning
    first: int
    last: int


class SourceText(msgspec.Struct, frozen=True):
    """One file. origin: where the text is from, None if there is none; path: its path in a named folder, for an editor.
    marks: where the recorded lines of this file are in it."""

    file: str
    origin: Literal["recorded", "folder"] | None = None
    lines: list[str] = []
    path: str | None = None
    marks: list[SourceMark] = []


def user_folders() -> list[Path]:
    """Returns the folders that the environment variable names."""
    return [Path(each) for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each]


def source_text(
    file: str,
    named: Sequence[str],
    line_of: LineOf,
    beside: tuple[AnyPath, int] | None,
    folders: Sequence[Path],
) -> SourceText:
    """named: all lines that the recording has. beside: the trace, and the epoch time in ns at which it began. The
    recorder's text takes precedence over that of a folder, which may have been edited since."""
    sources = [source for source in named if (line := source_line(source)) and line.file == file]
    if not sources:
        return SourceText(file)
    known = _of_name(recorded_sources(*beside) or {}, file) if beside else None
    found = next((each for folder in folders if (each := file_in(folder, file))), None)
    text = known if known is not None else found and _decoded(found.content)
    if text is None:
        return SourceText(file)
    functions, lines = functions_of(text), text.split("\n")
    return SourceText(
        file=file,
        origin="folder" if known is None else "recorded",
        lines=lines,
        path=str(found.path) if found else None,
        marks=[_mark(source, line_of, functions, len(lines)) for source in sources],
    )


def text_at(lines: Sequence[str], mark: SourceMark) -> str:
    """Returns the text of a mark in one line; for a decorated function that is its `def`.

    >>> text_at(["@cached", "def size(self):", "    return 1"], SourceMark("a.py(1): size", "function", 1, 3))
    'def size(self):'
    """
    stripped = [line.strip() for line in lines[mark.first - 1 : mark.last]]
    return next((line for line in stripped if line.startswith(("def ", "async def "))), stripped[0])


def _of_name(files: Mapping[str, str], wanted: str) -> str | None:
    """Returns the file of this name; else the only file whose name ends with this one, or is the end of it."""
    if wanted in files:
        return files[wanted]
    alike = [name for name in files if f"/{name}".endswith(f"/{wanted}") or f"/{wanted}".endswith(f"/{name}")]
    return files[alike[0]] if len(alike) == 1 else None


def _decoded(content: bytes) -> str | None:
    """Returns None where the content is not text."""
    if b"\0" in content:
        return None
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        return io.TextIOWrapper(io.BytesIO(content), encoding, "replace").read()
    except (SyntaxError, LookupError):
        return None


def _mark(source: str, line_of: LineOf, functions: Sequence[Function], count: int) -> SourceMark:
    found = source_line(source)
    if found is None or not 0 < found.line <= count:
        return SourceMark(source, "other", 0, 0)
    if line_of == "call" or found.function.startswith("<"):
        reached = line_of == "function" and found.function == "<module>"
        return SourceMark(source, "reached" if reached else "call", found.line, found.line)
    own = [each for each in functions if each.name == found.function and each.first <= found.line <= each.last]
    if not own:
        return SourceMark(source, "other", 0, 0)
    begins = next((each for each in own if each.first == found.line), None)
    if begins is None:
        return SourceMark(source, "reached", found.line, found.line)
    return SourceMark(source, "function", found.line, begins.last)
