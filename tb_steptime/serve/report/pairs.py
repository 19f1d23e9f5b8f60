"""Which runs a report holds against each other: of many, not every one with every other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise, permutations

from tb_steptime.comparison.chain import MOST_IN_CHAIN
from tb_steptime.serve.served import ServedSpan

#: Of more runs not every pair is held.
_FEW_RUNS = 4


def pairs_of(spans: Sequence[ServedSpan]) -> Iterator[tuple[ServedSpan, ServedSpan]]:
    """Base and candidate, a span for each run or worker. Of few runs every pair, either way; of more each run with the
    first of its chain and with the one before, simulated ones among themselves. Then the workers of a run, and the
    spans of a worker, each with the one before."""
    workers: dict[tuple[str, str], list[ServedSpan]] = {}
    for span in spans:
        workers.setdefault((span.found.run, span.found.worker), []).append(span)
    firsts = [of_one[0] for of_one in workers.values()]
    runs = list({span.found.run: span for span in reversed(firsts)}.values())
    shown = set(chain_names(spans))
    yield from permutations(runs, 2) if len(runs) <= _FEW_RUNS else _along_chains(runs, shown)
    yield from ((one, other) for one, other in pairwise(firsts) if one.found.run == other.found.run)
    for of_one in workers.values():
        yield from pairwise(of_one)


def _along_chains(runs: Sequence[ServedSpan], shown: Collection[str]) -> Iterator[tuple[ServedSpan, ServedSpan]]:
    """shown: the runs that stand in a chain; of the others each is held against the one before, too."""
    for simulated in (False, True):
        in_order = sorted((span for span in runs if _is_simulated(span) is simulated), key=_recorded)
        in_chain = [span for span in in_order if span.found.run in shown]
        from_first = ((in_chain[0], other) for other in in_chain[1:])
        yield from dict.fromkeys([*pairwise(in_order), *pairwise(in_chain), *from_first])


def chain_names(spans: Sequence[ServedSpan]) -> list[str]:
    """The runs of the chain, in the order of `spans`."""
    newest = {span.found.run: _recorded(span) for span in sorted(spans, key=_recorded)}
    kept = set(sorted(newest, key=newest.__getitem__)[-MOST_IN_CHAIN:])
    return [run for run in dict.fromkeys(span.found.run for span in spans) if run in kept]


def _recorded(span: ServedSpan) -> int:
    return span.at_hand().facts.origin_ns


def _is_simulated(span: ServedSpan) -> bool:
    return span.at_hand().facts.simulated is not None
