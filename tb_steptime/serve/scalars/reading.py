"""Scalars through TensorBoard's data provider, which reads event files in whichever way TensorBoard was started.

The provider is another program's code: scalars that it lacks or cannot read are left out, and are no error of the tab.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tb_steptime.serve.scalars.answers import Scalars, ScalarSeries
from tb_steptime.serve.scalars.folders import folders_of, is_exported

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

    def of(self, run: str, runs: Collection[str], tag: str | None) -> Scalars:
        """The tags of a run, and the series of one of them. runs: all runs of traces."""
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
        """Returns the tags by folder."""
        found = self.provider.list_scalars(self._context(), experiment_id=self._experiment(), plugin_name=_PLUGIN)
        return {folder: list(tags) for folder, tags in found.items() if tags and not is_exported(folder)}

    def _series(self, folders: Iterable[str], tag: str) -> list[ScalarSeries]:
        from tensorboard.data.provider import RunTagFilter

        found = self.provider.read_scalars(
            self._context(),
            experiment_id=self._experiment(),
            plugin_name=_PLUGIN,
            downsample=_MOST_POINTS,
            run_tag_filter=RunTagFilter(runs=list(folders), tags=[tag]),
        )
        return [_series(folder, tag, tags[tag]) for folder, tags in sorted(found.items()) if tag in tags]

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
