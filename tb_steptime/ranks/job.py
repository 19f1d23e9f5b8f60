"""Recordings of the ranks of a job, made at the same time -> an analysis of the job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import msgspec
import numpy as np

from tb_steptime.ranks.arrivals import Arrivals, StepWaits, arrivals, of_the_same_steps, on_shared_clocks, step_waits
from tb_steptime.ranks.clocks import align
from tb_steptime.ranks.collectives import collective_rows, exchange_time, group_rows, with_larger
from tb_steptime.ranks.deciding_path import deciding_path
from tb_steptime.ranks.delays.causes import causes, excess_ns, on_device
from tb_steptime.ranks.delays.late import (
    balance_of,
    causes_of_turns,
    imbalance_gain_ns,
    is_straggler,
    late_group,
    late_ranks,
)
from tb_steptime.ranks.matching import FEWEST_STEPS, Instances, MatchedGroup, Matching, instances_of, match
from tb_steptime.ranks.messages import Links, matched_messages, message_pairs, message_steps, messages, user_links
from tb_steptime.ranks.pipeline.result import Pipeline
from tb_steptime.ranks.pipeline.xray import pipeline, within_stages
from tb_steptime.ranks.replayed.changes import job_replay
from tb_steptime.ranks.replayed.graphs import unexplained
from tb_steptime.ranks.replayed.joint import ReplayedJob
from tb_steptime.ranks.result import (
    MOST_ERROR,
    MOST_UNEXPLAINED,
    Cause,
    Clocks,
    DecidingPath,
    JobCollective,
    JobRanks,
    JobReplay,
    JobStep,
    LateGroup,
    LateRank,
    RankMatrix,
    RankRow,
    RoutedTokens,
)
from tb_steptime.ranks.routing import of_rank, routed_tokens, with_tokens
from tb_steptime.ranks.spans import Members, RankSpan, matrix_values, measured_metrics, members, step_names
from tb_steptime.ranks.step_lanes import StepLanes, step_lanes
from tb_steptime.text import Note, Reason, count, ns, text
from tb_steptime.trace.table import Float64, Int64, distinct


def job_ranks(spans: Sequence[RankSpan], links: Links | None = None) -> JobRanks:
    """Analyses the job of at least one span, in any order. If links is None, the rates that the environment states are
    used. Raises what reading results raises."""
    return job_with_waits(spans, links)[0]


def job_with_waits(spans: Sequence[RankSpan], links: Links | None = None) -> tuple[JobRanks, StepWaits | None]:
    """Returns what `job_ranks` does, and the waits of each step in the order of the job's ranks and steps, or None
    where nothing is matched."""
    job_members = members(spans)
    step_ns = matrix_values(job_members.spans, "step_time")
    names = step_names(job_members.spans)
    exchanged = _Exchanged.from_members(job_members, names)
    links = links or user_links()
    values = [[None if value != value else value for value in row] for row in step_ns.tolist()]
    job = JobRanks(
        world_size=job_members.world_size,
        ranks=[_row(span) for span in job_members.spans],
        missing=job_members.missing,
        steps=[_step(name, job_members.spans, step_ns[:, column]) for column, name in enumerate(names)],
        step_time=RankMatrix("step_time", values, Reason("no_rank_measures_it") if np.isnan(step_ns).all() else None),
        metrics=measured_metrics(job_members.spans),
        on_device=any(on_device(span) for span in job_members.spans),
        infers=job_members.spans[0].infers,  # all ranks run the same program
        experts_reason=next(filter(None, (span.ranks_result.experts_reason for span in job_members.spans)), None),
        clocks=Clocks(None, Reason("no_matched_collectives")),
        unmatched=Reason("no_matched_collectives"),
        messages=messages(exchanged.ranks),
        pairs=message_pairs(exchanged.ranks, [span.rank for span in job_members.spans], len(names)),
        pipeline=exchanged.pipeline,
        notes=[*job_members.notes, *_notes(exchanged), *([Note("links_not_read")] if links.odd else [])],
    )
    if not exchanged.steps.size:
        return _with_what_if(job, _what_if(exchanged, _slowest_stage(job.pipeline))), None
    return _with_exchanges(job, exchanged, links), exchanged.waits


def job_step(spans: Sequence[RankSpan], step: str) -> tuple[list[str], StepLanes | None]:
    """Returns the steps that can be shown on one clock, and the lanes of the given step, or of a typical step if none
    has this name. Returns no steps and None where clocks do not agree or nothing is matched. Raises what reading
    results raises."""
    job_members = members(spans)
    names = step_names(job_members.spans)
    exchanged = _Exchanged.from_members(job_members, names)
    offsets = [offset for offset in align(exchanged.matching.matched, len(job_members.spans))[1] if offset is not None]
    if not exchanged.steps.size or len(offsets) < len(job_members.spans):
        return [], None
    place_of = {names[place]: place for place in exchanged.steps.tolist()}
    chosen = step if step in place_of else _usual(place_of, matrix_values(job_members.spans, "step_time"))
    return list(place_of), step_lanes(exchanged.matching.matched, job_members.spans, offsets, chosen, place_of[chosen])


def _usual(steps: Mapping[str, int], step_ns: Float64) -> str:
    """Returns the step whose slowest rank takes closest to the median over all steps. step_ns: (ranks, all steps)."""
    slowest = {name: float(np.nanmax(step_ns[:, place])) for name, place in steps.items()}
    median = float(np.median(list(slowest.values())))
    return min(slowest, key=lambda name: abs(slowest[name] - median))


def _row(span: RankSpan) -> RankRow:
    return RankRow(
        rank=span.rank,
        key=span.key,
        worker=span.worker,
        host=span.host,
        steps=len(span.step_names),
        mean_step_ns=span.mean_step_ns,
        experts=span.ranks_result.experts,
    )


def _step(name: str, spans: Sequence[RankSpan], step_ns: Float64) -> JobStep:
    """Returns a step of the job. step_ns: its length on each rank, NaN where a rank did not record it. At least one
    rank did."""
    present = np.flatnonzero(~np.isnan(step_ns))
    lengths = step_ns[present]
    slowest, fastest = present[int(lengths.argmax())], present[int(lengths.argmin())]
    return JobStep(
        name=name,
        ranks=len(present),
        slowest=spans[slowest].rank,
        slowest_ns=round(float(lengths.max())),
        median_ns=round(float(np.median(lengths))),
        fastest=spans[fastest].rank,
        fastest_ns=round(float(lengths.min())),
    )


@dataclass(frozen=True, eq=False)
class _Exchanged:
    """The matched exchanges of the ranks. names: of the job's steps."""

    spans: Sequence[RankSpan]
    names: Sequence[str]
    ranks: Sequence[Instances]
    matching: Matching
    missing: bool = False

    @staticmethod
    def from_members(job: Members, names: Sequence[str]) -> _Exchanged:
        ranks = instances_of(job.spans, names, 1 if len(names) >= FEWEST_STEPS else 0)
        step_ns = float(np.median([span.mean_step_ns for span in job.spans]))
        all_matches = match(ranks, len(names), job.world_size)
        hosts = [span.host for span in job.spans]
        matching = on_shared_clocks(of_the_same_steps(all_matches, hosts, step_ns), hosts)
        matching = replace(matching, matched=[with_larger(group, job.spans) for group in matching.matched])
        return _Exchanged(job.spans, names, ranks, matching, bool(job.missing))

    @cached_property
    def pipeline(self) -> Pipeline | None:
        return pipeline(self.spans, self.ranks, self.names, missing=self.missing)

    @cached_property
    def meeting(self) -> list[MatchedGroup]:
        """The matched collectives that show who is late."""
        matched = self.matching.matched
        return matched if self.pipeline is None else within_stages(matched, self.messages)

    @cached_property
    def steps(self) -> Int64:
        """The places of the steps in which something is matched."""
        return distinct(np.concatenate([np.empty(0, np.int64), *(group.step for group in self.matching.matched)]))

    @cached_property
    def step_names(self) -> list[str]:
        return [self.names[step] for step in self.steps.tolist()]

    @cached_property
    def place(self) -> dict[int, int]:
        """The place of each rank among the spans."""
        return {span.rank: place for place, span in enumerate(self.spans)}

    @cached_property
    def routed_tokens(self) -> tuple[list[RoutedTokens], Reason | None]:
        return routed_tokens(self.matching.matched, self.spans)

    def causes(self, rank: int, delay_ns: int, others: Collection[int] | None = None) -> list[Cause]:
        """Returns why this rank delays the others by this much per step. others: the ranks to compare it with, None for
        all."""
        spans = [span for span in self.spans if others is None or span.rank == rank or span.rank in others]
        place = next(place for place, span in enumerate(spans) if span.rank == rank)
        return with_tokens(causes(spans, place, delay_ns, self.step_names), self.routed_tokens[0], rank)

    @cached_property
    def messages(self) -> list[MatchedGroup]:
        """The messages between two ranks that are matched on both sides."""
        return matched_messages(self.ranks, [span.rank for span in self.spans], len(self.names))

    @cached_property
    def whole_steps(self) -> Int64:
        """The places of the steps in which something is matched, and every message is matched on both sides."""
        sides = np.bincount(message_steps(self.ranks), minlength=len(self.names))
        matched = np.zeros(len(self.names), np.int64)
        for each in self.messages:
            matched += 2 * np.bincount(each.step, minlength=len(self.names))
        matched[self.steps] += sides[self.steps] == 0  # steps with collectives only
        return np.flatnonzero((matched > 0) & (matched >= sides))

    @cached_property
    def replayed(self) -> ReplayedJob | None:
        """The ranks with what their replay needs, over the steps that are matched as a whole, or None where there is no
        such step."""
        if not self.whole_steps.size:
            return None
        return ReplayedJob.from_job(self.spans, self.names, self.matching.matched, self.messages, self.whole_steps)

    @cached_property
    def arrivals(self) -> Arrivals:
        return arrivals(self.matching.matched, len(self.spans), len(self.names))

    @cached_property
    def delays(self) -> Arrivals:
        """The arrivals of the collectives that show who is late."""
        alike = len(self.meeting) == len(self.matching.matched)
        return self.arrivals if alike else arrivals(self.meeting, len(self.spans), len(self.names))

    @cached_property
    def waits(self) -> StepWaits:
        return step_waits(self.arrivals, self.steps)


def _with_exchanges(job: JobRanks, exchanged: _Exchanged, links: Links) -> JobRanks:
    clocks, offsets = align(exchanged.matching.matched, len(exchanged.spans))
    tokens, tokens_reason = exchanged.routed_tokens
    collectives = collective_rows(exchanged.matching.matched, exchanged.spans, links)
    late, group = _late(exchanged), _late_group(exchanged)
    step_ns = float(np.median([step.slowest_ns for step in job.steps]))
    waits_ns = imbalance_gain_ns(exchanged.delays, exchanged.steps)
    first, ranks = late[0] if late else None, len(exchanged.spans)
    path = None if job.messages else _path(exchanged)
    balance = balance_of(first, group, waits_ns, step_ns, ranks, straggles=_straggles(exchanged, late))
    late_together = group if balance == "late_ranks" else None
    job = _with_what_if(
        job, _what_if(exchanged, [*_late_groups(late, late_together, path), *_slowest_stage(job.pipeline)])
    )
    what_if = job.what_if
    limit = _Limit.from_replay(exchanged, what_if, path)
    if path is not None:
        deciding = [decider.rank for decider in path.deciders]
        path = msgspec.structs.replace(path, gain_ns=limit.of_ranks(_late_ns(path, deciding), deciding))
    return msgspec.structs.replace(
        job,
        ranks=[
            _with_tokens(_with_waits(row, exchanged.arrivals, place, offsets[place]), tokens)
            for place, row in enumerate(job.ranks)
        ],
        steps=[_with_late(step, exchanged, place) for place, step in enumerate(job.steps)],
        clocks=clocks,
        matched_steps=len(exchanged.steps),
        unmatched=None,
        groups=group_rows(exchanged.matching.matched, exchanged.spans),
        collectives=collectives,
        tokens=tokens,
        tokens_reason=tokens_reason,
        exchange=exchange_time(exchanged.spans, exchanged.arrivals, collectives, len(exchanged.steps)),
        balance=balance,
        late=[_with_gain(rank, what_if, limit, [rank.rank]) for rank in late],
        late_group=_with_gain(late_together, what_if, limit, late_together.ranks) if late_together else None,
        imbalance_gain_ns=_evened_ns(waits_ns, what_if, limit) if balance == "imbalance" else 0,
        imbalance_causes=causes_of_turns(exchanged.spans, exchanged.delays.exposed_ns, exchanged.steps)
        if balance == "imbalance"
        else [],
        path=path,
        notes=[*job.notes, *_stalls(collectives)],
    )


def _with_what_if(job: JobRanks, replay: JobReplay | Reason) -> JobRanks:
    if isinstance(replay, Reason):
        return msgspec.structs.replace(job, what_if_reason=replay)
    return msgspec.structs.replace(job, what_if=replay)


def _unmatched(ranks: Sequence[Instances]) -> Reason:
    if not message_steps(ranks).size:
        return Reason("no_matched_collectives")
    messages = [one for rank in ranks for one in rank.classes if one.kind == "send_receive"]
    if any(one.batched and one.peer is None for one in messages):
        return Reason("messages_with_several_ranks")
    peers = any(one.peer is not None for one in messages)
    return Reason("messages_one_sided") if peers else Reason("messages_without_peers")


def _what_if(exchanged: _Exchanged, groups: Sequence[list[int]]) -> JobReplay | Reason:
    """Returns the replay of the job after changes, or the reason why there is none. groups: ranks to make as fast as
    the others."""
    if not exchanged.whole_steps.size:
        return _unmatched(exchanged.ranks)
    if exchanged.replayed is None:
        return Reason("no_common_steps")
    return job_replay(
        exchanged.replayed, [list(ranks) for ranks in dict.fromkeys(tuple(group) for group in groups if group)]
    )


def _late_groups(late: Sequence[LateRank], together: LateGroup | None, path: DecidingPath | None) -> list[list[int]]:
    """Returns groups of ranks: each late rank alone, those that are late together, and those that decide the step."""
    groups = [[rank.rank] for rank in late] + ([together.ranks] if together else [])
    return groups + ([sorted(decider.rank for decider in path.deciders)] if path else [])


def _slowest_stage(found: Pipeline | None) -> list[list[int]]:
    rows = found.rows if found else []
    return [[max(rows, key=lambda row: row.forward_ns + row.backward_ns).rank]] if rows else []


def _stalls(rows: Sequence[JobCollective]) -> list[Note]:
    """Returns a note about the row whose calls stall most."""
    row = max(rows, key=lambda each: each.stalled_ns, default=None)
    if row is None or not row.stalled:
        return []
    beyond = row.stalled_ns // row.ranks // row.stalled
    values = {"count": count(row.stalled), "kind": text(row.label), "beyond": ns(beyond)}
    return [Note("collectives_stalled", values | {"usual": ns(row.transfer_p50_ns)})]


@dataclass(frozen=True, eq=False)
class _Limit:
    """What limits a gain by waits where the joint replay predicts nothing.

    rank 0   |host late                       |==|      rank 1 waits 30 for rank 0 on its GPU, but its host has 25 of
    rank 1   |host at work            |wait     ]       them still to do: the step gets 5 shorter, and not 30
      GPU    |  [collective waits             |==|

    path: waits off it cost nothing; None where it is not known. step_ns, least_ns: length of the replayed step, and
    what each of the given ranks needs for it without the others (ranks, steps), 0 where the replay does not explain the
    rank; least_ns is None where the replay does not reproduce the recording.
    """

    ranks: Sequence[int]
    path: DecidingPath | None
    step_ns: int
    least_ns: Int64 | None

    @staticmethod
    def from_replay(exchanged: _Exchanged, what_if: JobReplay | None, path: DecidingPath | None) -> _Limit:
        ranks = [span.rank for span in exchanged.spans]
        if exchanged.replayed is None or what_if is None or what_if.wrong_by > MOST_ERROR:
            return _Limit(ranks, path, 0, None)
        explained = np.array([unexplained(span) <= MOST_UNEXPLAINED for span in exchanged.spans])
        return _Limit(ranks, path, what_if.later_step_ns, exchanged.replayed.later().alone_ns * explained[:, None])

    def of_ranks(self, waits_ns: int, late: Sequence[int]) -> int:
        """Limits the gain if these ranks are never late: the step still takes what any other rank needs by itself."""
        others = ~np.isin(self.ranks, late)
        if self.least_ns is not None and others.any():
            waits_ns = min(waits_ns, self._above(self.least_ns[others].max(axis=0)))
        return waits_ns if self.path is None else min(waits_ns, _late_ns(self.path, late))

    def of_evened(self, waits_ns: int) -> int:
        """Limits the gain if no rank is slower than the median one: the step still takes what that one needs."""
        if self.least_ns is not None:
            middle = np.sort(self.least_ns, axis=0)[(len(self.ranks) - 1) // 2]
            waits_ns = min(waits_ns, self._above(middle))
        return waits_ns if self.path is None else min(waits_ns, _late_ns(self.path, self.ranks))

    def _above(self, least_ns: Int64) -> int:
        return max(0, self.step_ns - round(float(least_ns.mean())))


def _late_ns(path: DecidingPath, ranks: Sequence[int]) -> int:
    return sum(rank.late_ns for rank in path.ranks if rank.rank in ranks)


def _evened_ns(waits_ns: int, what_if: JobReplay | None, limit: _Limit) -> int:
    """Returns how much shorter the step would be if no rank were slower than the median one, as far as ranks wait for
    each other."""
    if what_if is not None and what_if.trusted:
        return what_if.usual_gain_ns("even_ranks")
    return limit.of_evened(waits_ns)


L = TypeVar("L", LateRank, LateGroup)


def _with_gain(delay: L, what_if: JobReplay | None, limit: _Limit, ranks: list[int]) -> L:
    """Adds how much the job gains if these ranks are as fast as the others: from the replay, or else from the waits for
    them."""
    if what_if is not None and what_if.trusted:
        return msgspec.structs.replace(delay, gain_ns=what_if.usual_gain_ns("late_ranks", ranks))
    return msgspec.structs.replace(delay, gain_ns=limit.of_ranks(delay.gain_ns, ranks))


def _late(exchanged: _Exchanged) -> list[LateRank]:
    """Returns the late ranks with their causes."""
    waits = step_waits(exchanged.delays, exchanged.steps)
    late = late_ranks(exchanged.delays, exchanged.spans, exchanged.steps, waits)
    return [msgspec.structs.replace(rank, causes=exchanged.causes(rank.rank, rank.wait_ns)) for rank in late]


def _straggles(exchanged: _Exchanged, late: Sequence[LateRank]) -> bool:
    if not late:
        return False
    cause = next(iter(late[0].causes), None)
    excess = (
        None if cause is None else excess_ns(cause, exchanged.spans, exchanged.place[late[0].rank], exchanged.steps)
    )
    return is_straggler(late[0], exchanged.delays, excess, exchanged.steps)


def _late_group(exchanged: _Exchanged) -> LateGroup | None:
    """Returns the group of late ranks, with the causes for its first rank, compared with the ranks outside the
    group."""
    group = late_group(exchanged.meeting, exchanged.delays, exchanged.spans, exchanged.steps)
    if group is None:
        return None
    outside = exchanged.place.keys() - group.ranks
    return msgspec.structs.replace(group, causes=exchanged.causes(group.first, group.wait_ns, outside))


#: Minimum share of the deciding path by which a rank has to be late for its causes to be determined.
_WORTH_EXPLAINING = 0.05


def _path(exchanged: _Exchanged) -> DecidingPath | None:
    """Returns the deciding path, with the causes for which its ranks are late."""
    path = deciding_path(exchanged.matching.matched, exchanged.spans, exchanged.names, exchanged.steps)
    if path is None:
        return None
    ranks = [
        rank
        if rank.late_ns < _WORTH_EXPLAINING * path.step_ns
        else msgspec.structs.replace(rank, causes=exchanged.causes(rank.rank, rank.late_ns))
        for rank in path.ranks
    ]
    return msgspec.structs.replace(path, ranks=ranks)


def _with_waits(row: RankRow, totals: Arrivals, place: int, offset_ns: int | None) -> RankRow:
    return msgspec.structs.replace(
        row,
        matched=int(totals.matched[place]),
        transfer_ns=int(totals.transfer_ns[place]),
        wait_ns=int(totals.wait_ns[place]),
        exposed_wait_ns=int(totals.exposed_wait_ns[place]),
        last=int(totals.last[place]),
        caused_ns=int(totals.caused_ns[place]),
        clock_offset_ns=offset_ns,
    )


def _with_tokens(row: RankRow, tokens: Sequence[RoutedTokens]) -> RankRow:
    sent, received = of_rank(tokens, row.rank)
    return msgspec.structs.replace(row, tokens_sent=sent, tokens_received=received)


def _with_late(step: JobStep, exchanged: _Exchanged, place: int) -> JobStep:
    late_ns = exchanged.arrivals.late_ns[place]
    if not late_ns.any():
        return step
    worst = int(late_ns.argmax())
    return msgspec.structs.replace(step, late=exchanged.spans[worst].rank, late_ns=int(late_ns[worst]))


def _notes(exchanged: _Exchanged) -> list[Note]:
    unlike = exchanged.matching.unlike
    matched = sum(len(group.step) for group in exchanged.matching.matched)
    notes = []
    if unlike:
        notes.append(Note("collectives_unlike", {"count": count(unlike), "all": count(unlike + matched)}))
    if exchanged.matching.shifted:
        notes.append(Note("ranks_number_steps_differently", {"count": count(exchanged.matching.shifted)}))
    if exchanged.matching.alone:
        notes.append(Note("collectives_alone", {"count": count(exchanged.matching.alone)}))
    if 0 < len(exchanged.steps) < len(exchanged.names) - FEWEST_STEPS:
        notes.append(
            Note(
                "collectives_of_some_steps", {"count": count(len(exchanged.steps)), "all": count(len(exchanged.names))}
            )
        )
    return notes
