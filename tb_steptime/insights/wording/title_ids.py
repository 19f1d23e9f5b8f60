"""Ids of titles: what a page may say above or under a picture, a table or a figure. The tab asks for these alone.

`<number>` in an id is that of a device. A page has those that its result calls for.
"""

from __future__ import annotations

from tb_steptime.metrics.catalogue import METRICS, TILES

#: By view of one span.
_BY_VIEW = {
    "overview": ("steps", *(f"tile.{metric}" for metric in TILES)),
    "tensor_cores": ("split.<number>", "kernels.<number>", "kernel_time.<number>"),
    "gpu": (
        "time_bins.<number>", "split.<number>", "kernels.<number>", "kernel_time.<number>", "roofline.<number>",
        "no_lines", "no_modules",
    ),
    "data_loading": (
        "steps", "lanes", "workers_over_time", "batch_split", "activities", "lines_missing", "main_loader",
        "burst", "burst_pace", "burst_check", "curve", "curve_pace", "curve_epochs",
        "data_loading_exposed", "data_loading_hidden", "step_without_wait", "batch_time", "needed_workers",
    ),
    "host": ("answer", "queue", "reasons", "sites", "blocking", "blocking_remark", "copies", "devices", "pauses"),
    "operators": ("operators", "modules", "lines", "outside", "no_ops", "no_shapes", "no_stacks", "no_modules"),
    "memory": ("memory_curve.<number>", "memory_parts.<number>", "memory_growth.<number>", "memory_fit.<number>"),
}  # fmt: skip

SPAN_TITLES = tuple(dict.fromkeys(title for titles in _BY_VIEW.values() for title in titles))
#: A metric's picture has the metric's id.
TRENDS_TITLES = ("steps", "slow", "slow_rule", "time_bins", *(metric.id for metric in METRICS))
RANKS_TITLES = ("pipeline", "lanes", "map", "map.caused", "map.waits", "waits", "collectives", "clocks")
