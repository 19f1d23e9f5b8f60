"""The text of the source files that a recording names, as the recorder stored it, or from folders that the user names.

Decisions and their reasons:

- Only files that the recording itself names are given, by these names: a request names no path.
- Of a folder nothing outside it is read, and no link in it is followed. Whoever may write to the log directory chooses
  names, and must not choose which file is shown.
- What a file holds is compared with what was recorded: a function that is not at its line means another version of the
  file, and then no line of it is marked (`functions_of`).

A file in a folder that the user names is found by the name that a recording has for it:

folder   /home/me/job          "data/sets.py"  ->  /home/me/job/data/sets.py, else /home/me/job/sets.py

Where functions begin and end is found from tokens: the code is neither run nor compiled.

1   @torch.no_grad()     function "evaluate", lines 1 to 4: a frame names the line of its first decorator
2   def evaluate(net):
3       for x in data:
4           net(x)
"""

from __future__ import annotations

import functools
import gzip
import io
import os
import re
import stat
import tokenize
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

import msgspec

from tb_steptime.files.paths import AnyPath, open_regular
from tb_steptime.metrics.operators.lines import LineOf
from tb_steptime.record.sources import FORMAT, MOST_BYTES, MOST_FILE_BYTES, SUFFIX
from tb_steptime.text.frames import source_line

#: Environment variable with folders that hold the sources of jobs, separated as in PATH.
VARIABLE = "TB_STEPTIME_SOURCES"

#: What a recorded line is in the text: the beginning of a function, a line that ran, or a line that an unfinished
#: function had reached. "other": the text does not agree with the recording.
Meaning = Literal["function", "call", "reached", "other"]


class SourceMark(msgspec.Struct, frozen=True):
    """A recorded line in its file. source: the name of the row that it comes from; first, last: the lines of the
    function, or the same line twice; 0 for "other"."""

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
    file: str, named: Sequence[str], line_of: LineOf, beside: tuple[AnyPath, int] | None, folders: Sequence[Path]
) -> SourceText:
    """Returns the text of a file, with marks where the recorded lines are. named: all lines that the recording has.
    beside: the trace, and the epoch time in ns at which it began. The recorder's text takes precedence over that of a
    folder, which may have been edited since."""
    sources = [source for source in named if (line := source_line(source)) and line.file == file]
    if not sources:
        return SourceText(file)
    recorded = _text_by_name(recorded_sources(*beside) or {}, file) if beside else None
    file_there = next((each for folder in folders if (each := file_in(folder, file))), None)
    text = recorded if recorded is not None else file_there and _decoded(file_there.content)
    if text is None:
        return SourceText(file)
    functions, lines = functions_of(text), text.split("\n")
    return SourceText(
        file=file,
        origin="folder" if recorded is None else "recorded",
        lines=lines,
        path=str(file_there.path) if file_there else None,
        marks=[_mark(source, line_of, functions, len(lines)) for source in sources],
    )


def text_at(lines: Sequence[str], mark: SourceMark) -> str:
    """Returns the text of a mark in one line. For a decorated function it is that of its `def`.

    >>> text_at(["@cached", "def size(self):", "    return 1"], SourceMark("a.py(1): size", "function", 1, 3))
    'def size(self):'
    """
    stripped = [line.strip() for line in lines[mark.first - 1 : mark.last]]
    return next((line for line in stripped if line.startswith(("def ", "async def "))), stripped[0])


def _text_by_name(files: Mapping[str, str], file: str) -> str | None:
    """Returns the file of this name, or else the only file whose name ends with this one, or is the end of it."""
    if file in files:
        return files[file]
    matches = [name for name in files if f"/{name}".endswith(f"/{file}") or f"/{file}".endswith(f"/{name}")]
    return files[matches[0]] if len(matches) == 1 else None


def _decoded(content: bytes) -> str | None:
    """Returns the text of a file, or None where the content is not text."""
    if b"\0" in content:
        return None
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        return io.TextIOWrapper(io.BytesIO(content), encoding, "replace").read()
    except (SyntaxError, LookupError):
        return None


def _mark(source: str, line_of: LineOf, functions: Sequence[Function], count: int) -> SourceMark:
    location = source_line(source)
    if location is None or not 0 < location.line <= count:
        return SourceMark(source, "other", 0, 0)
    if line_of == "call" or location.function.startswith("<"):
        reached = line_of == "function" and location.function == "<module>"
        return SourceMark(source, "reached" if reached else "call", location.line, location.line)
    own = [each for each in functions if each.name == location.function and each.first <= location.line <= each.last]
    if not own:
        return SourceMark(source, "other", 0, 0)
    begins = next((each for each in own if each.first == location.line), None)
    if begins is None:
        return SourceMark(source, "reached", location.line, location.line)
    return SourceMark(source, "function", location.line, begins.last)


#: Parts of a name that are refused: those that lead elsewhere, and characters that name a drive or a stream of Windows.
_LEADS_ELSEWHERE = {"", ".", ".."}
_FORBIDDEN = ("\0", ":", "\\")
_MOST_PARTS = 64
_BY_FOLDER = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class FoundFile(NamedTuple):
    path: Path
    content: bytes


def file_in(folder: Path, name: str) -> FoundFile | None:
    """Returns the file below the folder that has this name, or the longest possible end of it. Returns None where there
    is none, where it is not a regular `.py` file of at most `MOST_FILE_BYTES`, or where a link is on the way."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    parts = parts[1:] if name.startswith("/") else parts
    if not name.endswith(".py") or len(parts) > _MOST_PARTS or any(map(_is_odd, parts)):
        return None
    for first in range(len(parts)):
        content = _content(folder, parts[first:])
        if content is not None:
            return FoundFile(folder.absolute().joinpath(*parts[first:]), content)
    return None


def _is_odd(part: str) -> bool:
    return part in _LEADS_ELSEWHERE or any(each in part for each in _FORBIDDEN)


def _content(folder: Path, parts: tuple[str, ...]) -> bytes | None:
    try:
        file = _opened(folder, parts) if _BY_FOLDER else _opened_by_path(folder, parts)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_FILE_BYTES:
            return None
        content = os.read(file, MOST_FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(file)
    return content if len(content) <= MOST_FILE_BYTES else None


def _opened(folder: Path, parts: tuple[str, ...]) -> int:
    """Opens one folder after the other, so that nobody can insert a link into the path meanwhile. Raises OSError,
    ValueError."""
    within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts[:-1]:
        outer = within
        try:
            within = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
    try:
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within)
    finally:
        os.close(within)


def _opened_by_path(folder: Path, parts: tuple[str, ...]) -> int:
    """Opens the file by its whole path, on systems that cannot open it folder by folder. Raises OSError, ValueError."""
    path = folder.joinpath(*parts)
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), *parts):
        raise OSError("A link is on the way")
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


class Function(NamedTuple):
    """A function in a source file. first: the line of its first decorator, or of `def`; last: its last line. Both count
    from 1."""

    name: str
    first: int
    last: int


def functions_of(text: str) -> list[Function]:
    """Returns the functions in the order in which they begin, up to the place where the text is no longer Python."""
    return sorted(_functions(text), key=lambda function: function.first)


def _functions(text: str) -> Iterator[Function]:
    opened: list[tuple[str, int] | None] = []  # name and first line of the enclosing blocks; None: not a function
    head: tuple[str, int] | None = None
    line: list[tokenize.TokenInfo] = []
    decorated = last = 0
    for token in _tokens(text):
        if token.type == tokenize.INDENT:
            opened.append(head)
        elif token.type == tokenize.DEDENT:
            ended = opened.pop()
            if ended:
                yield Function(*ended, last)
        elif token.type != tokenize.NEWLINE:
            line.append(token)
        elif line:
            tokens = [each.string for each in line]
            first, last = decorated or line[0].start[0], line[-1].end[0]
            decorated = first if tokens[0] == "@" else 0
            head = _head(tokens, first)
            if head and tokens[-1] != ":":  # its body is on the same line
                yield Function(*head, last)
            line = []
    for cut in filter(None, opened):
        yield Function(*cut, last)


def _head(tokens: list[str], first: int) -> tuple[str, int] | None:
    """Returns the name and first line if these words begin a function."""
    tokens = tokens[1:] if tokens[0] == "async" else tokens
    return (tokens[1], first) if tokens[0] == "def" and len(tokens) > 1 else None


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yields the tokens up to the place where the text is no longer Python."""
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in skipped:
                yield token
    except (tokenize.TokenError, SyntaxError):
        return


_NAME = re.compile(rf"(?P<process>.+_\d+)\.(?P<start>\d{{1,20}}){re.escape(SUFFIX)}")
#: Maximum size of the JSON. JSON writes one character in up to six bytes, so a larger file is not the recorder's.
_MOST_JSON_BYTES = 6 * MOST_BYTES


class _Stored(msgspec.Struct):
    sources: int
    files: dict[str, str]


def recorded_sources(trace: AnyPath, began_ns: int) -> Mapping[str, str] | None:
    """Returns texts by name, from the file of the process that wrote the trace, or from the only such file in the
    folder if the trace's name does not say which process that was. began_ns: epoch time of the recording. Returns None
    where there is no such file, or none that can be read."""
    name = _file_of(trace.name, _names(trace.parent), began_ns)
    return _read(trace.parent / name) if name else None


def _file_of(trace: str, names: list[str], began_ns: int) -> str | None:
    """Returns the name of the file with the sources of a trace, or None if it is not known.

    >>> names = ["a_7.100.sources.gz", "a_7.300.sources.gz", "a_8.100.sources.gz"]
    >>> _file_of("a_7.250.pt.trace.json.gz", names, 250), _file_of("renamed.json", names, 250)
    ('a_7.100.sources.gz', None)
    """
    matches = [match for match in map(_NAME.fullmatch, names) if match]
    own = [match for match in matches if trace.startswith(f"{match['process']}.") and int(match["start"]) <= began_ns]
    if own:
        return max(own, key=lambda match: int(match["start"]))[0]
    return matches[0][0] if len(matches) == 1 else None


def _names(folder: AnyPath) -> list[str]:
    """Returns the names of the files, without links."""
    try:
        if not isinstance(folder, Path):
            return [name for name in folder.names() if name.endswith(SUFFIX)]
        with os.scandir(folder) as entries:
            return [each.name for each in entries if each.name.endswith(SUFFIX) and not each.is_symlink()]
    except OSError:
        return []


def _read(path: AnyPath) -> Mapping[str, str] | None:
    try:
        if not isinstance(path, Path):
            return _decoded_file(path.read_bytes())
        stamp = path.stat()
        return _read_local(path, stamp.st_size, stamp.st_mtime_ns)
    except OSError:
        return None


@functools.lru_cache(maxsize=4)
def _read_local(path: Path, size: int, mtime_ns: int) -> Mapping[str, str] | None:
    """Reads a local file, cached, since the sources of one recording are requested one after the other. Raises
    OSError."""
    if size > MOST_BYTES:
        return None
    with open_regular(path) as file:
        return _decoded_file(file.read())


def _decoded_file(packed: bytes) -> Mapping[str, str] | None:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            content = file.read(_MOST_JSON_BYTES + 1)
        stored = msgspec.json.decode(content, type=_Stored)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return stored.files if stored.sources == FORMAT and len(content) <= _MOST_JSON_BYTES else None
