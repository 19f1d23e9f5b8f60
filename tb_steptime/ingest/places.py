"""The directories that are searched for traces (TensorBoard's `--logdir` or `--logdir_spec`), and those that are
searched for names of kernels."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tb_steptime.files.paths import AnyPath, any_path, is_address
from tb_steptime.files.remote import RemotePath, masked


class Place(msgspec.Struct, frozen=True):
    """A directory that is searched: name is the one that --logdir_spec gives it ("" for --logdir), shown is the path as
    the user wrote it, without secrets."""

    name: str
    root: AnyPath
    shown: str


class NamePlaces(msgspec.Struct, frozen=True):
    """Where to look for an eager recording that names the kernels in CUDA graphs (`ingest.graph_names`). named: files
    and folders that the user named for this purpose. Without any, the search covers beside, the paths that the user
    named with the trace, and the log directory."""

    named: tuple[AnyPath, ...] = ()
    beside: tuple[AnyPath, ...] = ()
    log_directory: AnyPath | None = None


def parse_places(logdir: str, logdir_spec: str) -> list[Place]:
    """`--logdir DIR`, or `--logdir_spec name:DIR,name2:DIR2` as TensorBoard reads it (a name is optional)."""
    if not logdir_spec:
        return [_place("", logdir)] if logdir else []
    return [_place(*_named_part(part)) for part in logdir_spec.split(",") if part]


def _named_part(part: str) -> tuple[str, str]:
    """A colon separates name and folder, except that of a scheme, an absolute path or a Windows drive. A folder without
    a name is named after itself, so that the runs of two folders stay apart."""
    name, colon, folder = part.partition(":")
    if not colon or part.startswith("/") or is_address(part) or os.path.splitdrive(part)[0]:
        return part.rstrip("/"), part
    return name, folder


def _place(name: str, folder: str) -> Place:
    path = any_path(folder)
    if isinstance(path, RemotePath):
        return Place(masked(name), path, str(path))
    return Place(name, Path(os.path.abspath(path.expanduser())), folder)
