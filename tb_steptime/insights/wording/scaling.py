"""How a job scales, in a sentence."""

from __future__ import annotations

from tb_steptime.insights.wording.reasons import explain
from tb_steptime.ranks.result import DecidingPath
from tb_steptime.ranks.scaling import PartId, Scaling, ScalingPart
from tb_steptime.text import Phrase, closed, count, fraction, joined, ns, phrase, text

#: Phrases for the causes of lost time.
PART_WORDS: dict[PartId, str] = {
    "kernels": "longer kernels",
    "transfers": "exposed transfers",
    "waits": "waits for late ranks",
    "loading": "data loading",
    "copies": "copies",
    "host": "the CPU",
}
#: Minimum share of the step for a loss to be named.
WORTH_NAMING = 0.02


def scaling_text(scaling: Scaling) -> Phrase:
    """ "8 to 64 ranks: 71 % efficient, 19 % lost to exposed all-gather"; why not, where the efficiency is not known."""
    ranks = {"base": count(scaling.base_ranks), "ranks": count(scaling.ranks)}
    if scaling.reason is not None or scaling.efficiency is None:
        why = explain(scaling.reason) if scaling.reason else phrase("")
        return joined(phrase("{base} to {ranks} ranks:", **ranks), why)
    sentence = phrase(
        "{base} to {ranks} ranks: [{efficiency} efficient]", **ranks, efficiency=fraction(scaling.efficiency)
    )
    most = scaling.parts[0]
    if min(most.lost_ns, (1 - scaling.efficiency) * scaling.step_ns) < WORTH_NAMING * scaling.step_ns:
        return closed(sentence)
    lost = phrase(", {lost} lost to {part}.", lost=fraction(most.lost_ns / scaling.step_ns), part=text(_part(most)))
    return joined(sentence, lost, by="")


def same_ranks_text(scaling: Scaling) -> Phrase:
    """Two jobs of as many ranks: what the whole job's step became, and the part that changed most."""
    sentence = phrase(
        "Over all {ranks} ranks a step takes {after}, in the base {before}",
        ranks=count(scaling.ranks),
        after=ns(scaling.step_ns),
        before=ns(scaling.base_step_ns),
    )
    most = max(scaling.parts, key=lambda part: abs(part.ns - part.base_ns))
    if abs(most.ns - most.base_ns) < WORTH_NAMING * scaling.base_step_ns:
        return closed(sentence)
    changed = phrase(
        "; most changed: {part}, {own} and {was}.",
        part=text(_part(most)),
        own=ns(most.ns),
        was=ns(most.base_ns),
    )
    return joined(sentence, changed, by="")


def paths_text(scaling: Scaling) -> Phrase | None:
    """Words the length of the path that decides the step in both jobs, and the part of it that changed most; None where
    one of the two is not known."""
    if scaling.base_path is None or scaling.path is None:
        return None
    was, now = _path_parts(scaling.base_path), _path_parts(scaling.path)
    sentence = phrase(
        "The path that decides the step takes {path}, in the base {base_path}",
        path=ns(scaling.path.step_ns),
        base_path=ns(scaling.base_path.step_ns),
    )
    parts = dict.fromkeys([*now, *was])
    most = max(parts, key=lambda part: abs(now.get(part, 0) - was.get(part, 0)))
    if abs(now.get(most, 0) - was.get(most, 0)) < WORTH_NAMING * scaling.base_path.step_ns:
        return joined(sentence, phrase(", and no part of it changed by much."), by="")
    changed = phrase(
        "; most changed on it: {on_path}, {on_path_ns} and {on_base_path_ns}.",
        on_path=text(most),
        on_path_ns=ns(now.get(most, 0)),
        on_base_path_ns=ns(was.get(most, 0)),
    )
    return joined(sentence, changed, by="")


def _path_parts(path: DecidingPath) -> dict[str, int]:
    """Returns the parts by label, ns; they sum to the step."""
    arrivals = {f"late arrivals of rank {each.rank}": each.late_ns for each in path.ranks}
    return {"work": path.work_ns, "transfers": path.transfer_ns} | arrivals


def _part(part: ScalingPart) -> str:
    return f"exposed {part.kind}" if part.id == "transfers" and part.kind else PART_WORDS[part.id]
