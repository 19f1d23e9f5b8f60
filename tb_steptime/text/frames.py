"""Names of Python frames: the line of a file, or a built-in function.

train.py(54): step        <built-in function sleep>
"""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.text.patterns import expression

_FRAME = expression(r"(?P<file>[^<].*\.py)\((?P<line>\d+)\): (?P<function>.*)")
_BUILT_IN = expression(r"<built-in (?:method|function) (?P<function>\w+)")


class SourceLine(NamedTuple):
    """A line of a file, counted from 1, and the function that it is in."""

    file: str
    line: int
    function: str

    @property
    def place(self) -> str:
        """The file and the line, as compilers, tracebacks and editors write them: "data/sets.py:54"."""
        return f"{self.file}:{self.line}"


def source_line(frame: str) -> SourceLine | None:
    """Returns the source line of a frame; None for a frame without a file.

    >>> source_line("data/sets.py(54): item")
    SourceLine(file='data/sets.py', line=54, function='item')
    """
    match = _FRAME.match(frame)
    return SourceLine(match["file"], int(match["line"]), match["function"]) if match else None


def code_line(frame: str) -> str:
    """Returns a frame as sentences and tables write it; any other name unchanged.

    >>> code_line("data/sets.py(54): item"), code_line("aten::mm")
    ('data/sets.py:54 item', 'aten::mm')
    """
    return f"{line.place} {line.function}" if (line := source_line(frame)) else frame


def frame_function(frame: str) -> str:
    """Returns the name of the function that a frame calls; any other name unchanged.

    >>> frame_function("data.py(9): crop"), frame_function("<built-in method tensor of type object at 0x7f>")
    ('crop', 'tensor')
    """
    match = _FRAME.match(frame) or _BUILT_IN.match(frame)
    return match["function"] if match else frame
