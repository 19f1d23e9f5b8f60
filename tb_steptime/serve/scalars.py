"""The job's own scalars (loss, throughput) of the same log directory, through TensorBoard's data provider, which reads
event files in whichever way TensorBoard was started.

The provider is another program's code: scalars that it lacks or cannot read are left out, and are no error of the tab.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.names import EXPORT_FOLDER


class ScalarSeries(msgspec.Struct, frozen=True):
    """One tag of one folder of event files. Three lists of one length: the step and the time (epoch ns) that the job
    gave each value, and the value; None where it is not finite.

    source: the folder, as TensorBoard names its runs.
    """

    source: str
    tag: str
    steps: list[int]
    wall_ns: list[int]
    values: list[float | None]


class Scalars(msgspec.Struct, frozen=True):
    """tags: what there is of a run, sorted; series: of the tag that was asked for, by folder."""

    tags: list[str]
    series: list[ScalarSeries]


#: The name of TensorBoard's own plugin for scalars.
_PLUGIN = "scalars"

#: Maximum number of points of a series, which is enough for the pixels of a picture. The provider keeps the last one.
_MOST_POINTS = 1_000

_NONE = Scalars([], [])


@dataclass(frozen=True)
class JobScalars:
    """provider: TensorBoard's, or None where it has none. environ: of the request, which names the experiment."""

    provider: Any
    environ: Mapping[str, Any]

    def read(self, run: str, runs: Collection[str], tag: str | None) -> Scalars:
        """Returns the tags of a run, and the series of one of them. runs: all runs of traces."""
        if self.provider is None:
            return _NONE
        from tensorboard.errors import PublicError

        try:
            listed = self._listed()
            folders = folders_of(run, runs, listed)
            tags = sorted({each for folder in folders for each in listed[folder]})
            return Scalars(tags, [] if tag is None else self._series(folders, tag))
        except (PublicError, NotImplementedError):
            return _NONE

    def _listed(self) -> dict[str, list[str]]:
        """Returns the tags by folder, without the figures of the tab itself that `tb-steptime export` wrote."""
        by_folder = self.provider.list_scalars(self._context(), experiment_id=self._experiment(), plugin_name=_PLUGIN)
        exported = {folder for folder in by_folder if EXPORT_FOLDER in PurePosixPath(folder).parts}
        return {folder: list(tags) for folder, tags in by_folder.items() if tags and folder not in exported}

    def _series(self, folders: Iterable[str], tag: str) -> list[ScalarSeries]:
        from tensorboard.data.provider import RunTagFilter

        by_folder = self.provider.read_scalars(
            self._context(),
            experiment_id=self._experiment(),
            plugin_name=_PLUGIN,
            downsample=_MOST_POINTS,
            run_tag_filter=RunTagFilter(runs=list(folders), tags=[tag]),
        )
        return [_series(folder, tag, tags[tag]) for folder, tags in sorted(by_folder.items()) if tag in tags]

    def _context(self) -> Any:
        from tensorboard.plugin_util import context

        return context(self.environ)

    def _experiment(self) -> str:
        from tensorboard.plugin_util import experiment_id

        return str(experiment_id(self.environ))


def _series(folder: str, tag: str, points: Iterable[Any]) -> ScalarSeries:
    """points: ScalarDatum of the provider, in the order in which they were written."""
    rows = [(int(point.step), round(point.wall_time * 1e9), float(point.value)) for point in points]
    return ScalarSeries(
        folder,
        tag,
        [step for step, _, _ in rows],
        [wall_ns for _, wall_ns, _ in rows],
        [value if math.isfinite(value) else None for _, _, value in rows],
    )


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


def _is_shared(around: str, own: PurePosixPath, runs: Iterable[str]) -> bool:
    """Returns whether the traces of another run lie in or below the folder too."""
    others = (PurePosixPath(other) for other in runs)
    return any(other != own and PurePosixPath(around) in (other, *other.parents) for other in others)


def scalars_of(folder: AnyPath) -> JobScalars | None:
    """Returns the scalars of a folder; None where the folder holds no event file, so that TensorBoard's reader, which
    takes long to import, is not imported. None for a folder in an object store, too."""
    if not isinstance(folder, Path) or next(folder.rglob("*tfevents*"), None) is None:
        return None
    from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
    from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return JobScalars(MultiplexerDataProvider(multiplexer, str(folder)), {})
