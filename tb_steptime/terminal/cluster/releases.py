"""The release that each worker measures with. A summary that was made with other definitions is measured again when it
is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tb_steptime import __version__
from tb_steptime.ingest.summaries.freshness import user_peaks_digest
from tb_steptime.ingest.summaries.layout import DEFINITIONS, FORMAT
from tb_steptime.text.printer import counted


class Release(NamedTuple):
    """summaries: everything besides the trace that decides whether a summary written there is fresh here."""

    version: str
    summaries: str


def release_there() -> Release:
    return Release(__version__, f"{FORMAT} {DEFINITIONS} {user_peaks_digest()}")


def said_of(workers: Mapping[str, Release | BaseException]) -> tuple[list[str], bool]:
    """Returns lines about workers whose release differs from the one here, and whether no worker can be used."""
    here = release_there()
    without = [each for each in workers.values() if not isinstance(each, Release)]
    differing = [each for each in workers.values() if isinstance(each, Release) and each.summaries != here.summaries]
    lines = []
    if without:
        of_all = f"{len(without)} of {counted(len(workers), 'worker')}"
        lines.append(f"{of_all} cannot run tb-steptime: pip install 'tb-steptime=={here.version}' there.")
    if differing:
        versions = ", ".join(sorted({each.version for each in differing}))
        of_all = f"{len(differing)} of {counted(len(workers), 'worker')}"
        lines.append(
            f"{of_all} measure with another build of tb-steptime ({versions}; here {here.version}), or with other peak "
            "rates: what they write is measured again when it is opened here. Install the same release on all."
        )
    return lines, len(without) == len(workers)
