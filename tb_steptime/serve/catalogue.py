"""The catalogue: every label, unit, definition and reason that the tab shows, gathered from where each is defined."""

from __future__ import annotations

import msgspec

from tb_steptime import __version__
from tb_steptime.analyses import ANALYSES
from tb_steptime.insights.questions import CardMeaning, card_meaning
from tb_steptime.insights.rules import RULES
from tb_steptime.insights.rules.ranks import JOB_RULES
from tb_steptime.insights.sidebar import SHARE_MEANINGS
from tb_steptime.insights.wording.ranks import ROLE_LABELS
from tb_steptime.insights.wording.reasons import REASONS
from tb_steptime.insights.wording.terms import AMD_LABELS, TERMS, Term
from tb_steptime.metrics.base import Metric, PartMeaning
from tb_steptime.metrics.catalogue import DATA_LOADING_TILES, HOST_TILES, METRIC_BY_ID, METRICS, MORE_IS_BETTER, TILES
from tb_steptime.metrics.data_loading.recorded_workers import LIMIT_WORDS, PRODUCTION_PARTS
from tb_steptime.metrics.idle.bottleneck import BOUND_WORDS, Bound
from tb_steptime.metrics.idle.host_stalls import CAUSE_WORDS, PauseCause
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS
from tb_steptime.metrics.kernels.time_bins import TIME_BIN_METRICS
from tb_steptime.metrics.memory.categories import MEMORY_PARTS
from tb_steptime.metrics.phases.sites import PHASE_LABELS, PhaseId
from tb_steptime.metrics.steps.host_pace import HOST_FIGURES
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.metrics.tensor_cores.usage import KERNEL_BINS, BinMeaning
from tb_steptime.ranks.result import Role
from tb_steptime.tables.heads import HEADS


class ViewMeaning(msgspec.Struct, frozen=True):
    """tiles: the metrics whose tiles are at the top of the view, so that it can be laid out before they are known.

    share: the whole of which the list of views shows the view's share; empty where it shows none.
    """

    id: str
    title: str
    tiles: tuple[str, ...] = ()
    share: str = ""


class Catalogue(msgspec.Struct, frozen=True):
    """Every label, unit and definition that the tab shows; the only source of tooltips and table heads.

    metrics can be measured of any span and step; figures are what else a view shows; more_is_better: metrics of which
    the least is the worst. reasons: code -> template, the words of every Reason; idle_reasons: why a GPU is idle, in
    the order of IdleNs. bounds: a verdict (Bound) as an adjective; paces: what sets the pace then, in the words of the
    Overview; causes: why the host pauses; phases: of a step, in their order; kernel_bins: of kernel time, by tensor
    cores; production_parts: of a batch; memory_parts: kinds of memory; limits: what limits a worker; roles: what
    process groups exchange for; amd_labels: by id of a view, metric or bin what it is called on an AMD GPU; cards: what
    each card rests on in any trace; terms: what is explained where it stands in a sentence.
    """

    version: str
    metrics: list[Metric]
    figures: list[Metric]
    more_is_better: list[str]
    parts: list[PartMeaning]
    reasons: dict[str, str]
    idle_reasons: list[PartMeaning]
    bounds: dict[str, str]
    paces: dict[str, str]
    causes: dict[PauseCause, str]
    phases: dict[PhaseId, str]
    kernel_bins: list[BinMeaning]
    production_parts: list[PartMeaning]
    memory_parts: list[PartMeaning]
    limits: dict[str, str]
    roles: dict[Role, str]
    views: list[ViewMeaning]
    amd_labels: dict[str, str]
    cards: list[CardMeaning]
    terms: list[Term]


_TILES: dict[str, tuple[str, ...]] = {"overview": TILES, "data_loading": DATA_LOADING_TILES, "host": HOST_TILES}


#: What limits a step, as a noun for a list.
_PACES = {
    Bound.HOST: "CPU",
    Bound.GPU: "GPU",
    Bound.CPU: "CPU",
    Bound.INPUT: "loader",
    Bound.SYNC: "blocking calls",
    Bound.DEPENDENCY: "dependencies",
    Bound.COMMUNICATION: "communication",
    Bound.MIXED: "several",
    Bound.UNKNOWN: "unknown",
}


def catalogue() -> Catalogue:
    """Returns all meanings of this release."""
    figures = {metric.id: metric for metric in (*TIME_BIN_METRICS, *HEADS, *HOST_FIGURES)}
    return Catalogue(
        version=__version__,
        metrics=list(METRICS),
        figures=[metric for id, metric in figures.items() if id not in METRIC_BY_ID],
        more_is_better=sorted(MORE_IS_BETTER),
        parts=list(PART_MEANINGS),
        reasons=REASONS,
        idle_reasons=list(IDLE_MEANINGS),
        bounds={bound.value: words for bound, words in BOUND_WORDS.items()},
        paces={bound.value: words for bound, words in _PACES.items()},
        causes=CAUSE_WORDS,
        phases=PHASE_LABELS,
        kernel_bins=list(KERNEL_BINS),
        production_parts=list(PRODUCTION_PARTS),
        memory_parts=list(MEMORY_PARTS),
        limits=LIMIT_WORDS,
        roles=ROLE_LABELS,
        views=[
            ViewMeaning(analysis.id, analysis.title, _TILES.get(analysis.id, ()), SHARE_MEANINGS.get(analysis.id, ""))
            for analysis in ANALYSES
        ],
        amd_labels=AMD_LABELS,
        cards=[*map(card_meaning, RULES), *map(card_meaning, JOB_RULES)],
        terms=list(TERMS),
    )
