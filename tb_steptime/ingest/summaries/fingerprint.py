"""A hash of the code that measures: every module of the package that `ingest.measure` imports, directly or not.

Which modules these are is read from their source, so that a module which begins to measure needs no entry in a list.
Imports in functions count, those for type checkers do not, and of a package's `__init__` only what is imported from it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tb_steptime.metrics.work.told_peaks import told_text

_PACKAGE = Path(__file__).parents[2]
_MEASURES = "ingest/measure.py"

# Patterns rather than a parser, which needs ten times as long for a hundred modules.
_IMPORT = re.compile(rb"^ *from tb_steptime([\w.]*) import (\([^)]*\)|[^\n]+)", re.MULTILINE)
_FOR_TYPE_CHECKERS = re.compile(rb"^if TYPE_CHECKING:\n(?: +[^\n]*\n|\n)+", re.MULTILINE)
_NAME = re.compile(rb"(\w+)(?: as \w+)?")


@functools.cache
def code_fingerprint() -> str:
    """A summary that was made by other code, or with other told peaks, is made again where its trace is at hand."""
    told = told_text()
    code = fingerprint_of(_PACKAGE)
    return hashlib.blake2b(f"{code} {told}".encode(), digest_size=8).hexdigest() if told else code


def fingerprint_of(package: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path, source in sorted(measuring_modules(package).items()):
        digest.update(path.encode())
        digest.update(source)
    return digest.hexdigest()


def measuring_modules(package: Path) -> dict[str, bytes]:
    """Source by path below the package, of all modules that decide what a result says."""
    sources: dict[str, bytes] = {}
    pending = [_MEASURES]
    while pending:
        path = pending.pop()
        if path not in sources:
            with open(os.path.join(package, path), "rb") as file:
                sources[path] = file.read()
            pending += _imported(package, sources[path])
    return sources


def _imported(package: Path, source: bytes) -> Iterator[str]:
    """Paths of the modules of this package that a source text imports from."""
    for base, names in _IMPORT.findall(_FOR_TYPE_CHECKERS.sub(b"", source)):
        for name in _NAME.findall(names):
            yield _module(package, base.decode(), name.decode())


@functools.cache
def _module(package: Path, base: str, name: str) -> str:
    """The module that `from tb_steptime<base> import name` gets the name from."""
    parts = base.split(".")[1:]
    places = ((*parts, name), (*parts, name, "__init__"), parts, (*parts, "__init__"))
    paths = ("/".join(place) + ".py" for place in places)
    return next(path for path in paths if os.path.isfile(os.path.join(package, path)))
