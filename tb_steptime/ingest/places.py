"""Which directories are searched: TensorBoard's `--logdir` or `--logdir_spec`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_REMOTE = re.compile(r"[a-zA-Z][a-zA-Z0-9.+-]*://")


@dataclass(frozen=True)
class Place:
    """A directory that is searched: name as --logdir_spec gives it ("" for --logdir), shown as the user wrote it."""

    name: str
    root: Path
    shown: str

    @property
    def is_remote(self) -> bool:
        """Whether it names another machine ("s3://bucket"), whose files are not read."""
        return _REMOTE.match(self.shown) is not None


def parse_places(logdir: str, logdir_spec: str) -> list[Place]:
    """`--logdir DIR`, or `--logdir_spec name:DIR,name2:DIR2` as TensorBoard reads it (a name is optional)."""
    if not logdir_spec:
        return [_place("", logdir)] if logdir else []
    return [_place(*_named_part(part)) for part in logdir_spec.split(",") if part]


def _named_part(part: str) -> tuple[str, str]:
    """A colon parts name and folder, but not the one of a scheme, an absolute path or a Windows drive. A folder
    without a name is named after itself, so that the runs of two folders stay apart."""
    name, colon, folder = part.partition(":")
    if not colon or part.startswith("/") or _REMOTE.match(part) or os.path.splitdrive(part)[0]:
        return part.rstrip("/"), part
    return name, folder


def _place(name: str, folder: str) -> Place:
    return Place(name, Path(os.path.abspath(os.path.expanduser(folder))), folder)
