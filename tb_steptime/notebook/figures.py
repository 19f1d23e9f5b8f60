"""Every figure of the catalogue for one span: value, unit, one value per step, and why it is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.notebook.tables import Table
from tb_steptime.tables.base import Surface
from tb_steptime.tables.recordings import FIGURES, FigureLine
from tb_steptime.text import Quantity, did_you_mean
from tb_steptime.text.printer import GAP, plain, quantity
from tb_steptime.trace.table import Float64

_METRICS = {metric.id: metric for metric in METRICS}


@dataclass(frozen=True, eq=False)
class SpanFigure:
    """One figure.

    value   over the span, in `unit` ("ns", "fraction" of 0 to 1, "count", ...); None: not measurable in this trace,
            and then `reason` says why
    steps   float64 (steps,), in the order of the span's steps; NaN where not measurable
    device  the GPU that it is of, None for figures of the whole process
    """

    id: str
    label: str
    unit: str
    meaning: str
    value: float | None
    steps: Float64
    reason: str | None
    device: int | None

    def __str__(self) -> str:
        """The value as text: `52.4 ms`, or a dash with the reason."""
        text = quantity(Quantity(self.value, _METRICS[self.id].unit)).replace(GAP, " ")
        return text if self.value is not None else f"{text} ({self.reason})"

    def __repr__(self) -> str:
        return f"SpanFigure({self.label}: {self})"


class Figures(Mapping[str, SpanFigure]):
    """Figures by id; `docs/figures.md` defines each."""

    def __init__(self, series: Sequence[Series]) -> None:
        self._series = {each.metric: each for each in series if each.metric in _METRICS}

    def __getitem__(self, id: str) -> SpanFigure:
        """KeyError for an id that is not in the catalogue, with the one that may be meant."""
        if id not in self._series:
            raise KeyError(f"{id!r} is no figure.{did_you_mean(str(id), self._series)}")
        series, metric = self._series[id], _METRICS[id]
        return SpanFigure(
            id=id,
            label=metric.label,
            unit=metric.unit.value,
            meaning=metric.meaning,
            value=series.value,
            steps=np.array([np.nan if value is None else value for value in series.steps], np.float64),
            reason=plain(explain(series.reason)) if series.reason and series.value is None else None,
            device=series.device,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

    @property
    def table(self) -> Table:
        """A row for each figure: id, label, unit, device, value, reason."""
        lines = (FigureLine(_METRICS[each.id], each.device, None, each.value, each.reason) for each in self.values())
        rows = (FIGURES.values(line, Surface.ROWS) for line in lines)
        return Table(FIGURES.id, FIGURES.kinds_on(Surface.ROWS), rows)

    def __repr__(self) -> str:
        known = sum(figure.value is not None for figure in self.values())
        return f"Figures({len(self)}, of which {known} are measurable here)"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
