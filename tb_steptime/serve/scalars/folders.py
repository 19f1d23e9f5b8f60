"""Finds the folders of event files that belong to the job of a trace: loggers write into the same folder, or near
it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from tb_steptime.ingest.names import EXPORT_FOLDER

#: As TensorBoard names the log directory itself.
ROOT = "."


def folders_of(run: str, runs: Iterable[str], folders: Collection[str]) -> list[str]:
    """Returns the run's own folder; else those below it; else the nearest folder around it that no other run is in.

    runs: of traces; folders: with event files; both relative to the log directory. An event file in a folder around
    several runs cannot be attributed to one of them.

    run "jobs/a/profile", folders jobs/a, jobs/b  ->  jobs/a
    run "jobs/a",         folders jobs/a/train, jobs/a/val  ->  both
    """
    own = PurePosixPath(run)
    if run in folders:
        return [run]
    below = sorted(folder for folder in folders if own in PurePosixPath(folder).parents)
    if below:
        return below
    around = next((str(parent) for parent in own.parents if str(parent) in folders), None)
    if around is None or _is_shared(around, own, runs):
        return []
    return [around]


def is_exported(folder: str) -> bool:
    """Whether `tb-steptime export` wrote what is in it: figures of the tab itself."""
    return EXPORT_FOLDER in PurePosixPath(folder).parts


def _is_shared(around: str, own: PurePosixPath, runs: Iterable[str]) -> bool:
    """Whether the traces of another run lie in or below the folder too."""
    others = (PurePosixPath(other) for other in runs)
    return any(other != own and PurePosixPath(around) in (other, *other.parents) for other in others)
