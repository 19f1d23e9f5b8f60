"""What goes to stdout: texts, lines, JSON."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable

import msgspec


def print_texts(texts: Iterable[str]) -> None:
    """With two empty lines between them, each as soon as it is known."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no "█" shows "?" rather than nothing
    for number, text in enumerate(texts):
        print(("\n\n" if number else "") + text)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def print_json(content: msgspec.Struct) -> None:
    print(msgspec.json.encode(content).decode())
