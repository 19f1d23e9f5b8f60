"""Compiled modules for copies of the package, which a test would otherwise compile all again."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def carry_bytecode(source: Path, copy: Path) -> None:
    """Copies what Python has compiled of a folder to where it looks for that of the copy. The copy's files have the
    times of the original ones; what a test changes in it is compiled again. Where no folder holds all that is compiled,
    as `make test` has one, nothing is done."""
    if sys.pycache_prefix and _compiled(source).is_dir():
        shutil.copytree(_compiled(source), _compiled(copy), dirs_exist_ok=True)


def _compiled(folder: Path) -> Path:
    return Path(str(sys.pycache_prefix), *folder.resolve().parts[1:])
