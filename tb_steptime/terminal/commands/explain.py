"""`tb-steptime explain TRACE [CARD]`: what a card rests on: its evidence, formula and events."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import Command, add_format, add_steps, exit_code, refused

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="TRACE", type=any_path, help="a trace file or a log directory")
    parser.add_argument("card", metavar="CARD", nargs="?", help="the id of a card; default: all cards of the trace")
    add_steps(parser)
    add_format(parser, "table", "json")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.insights import judge
    from tb_steptime.insights.facts import Facts
    from tb_steptime.terminal.explanation import Explanations, explain_card, explanation_text
    from tb_steptime.terminal.output import print_json, print_texts
    from tb_steptime.terminal.spans import measured_trace, read_each

    problems: list[Problem] = []
    found, known = [], set[str]()
    for span, (trace, measured) in read_each([options.path], problems, measured_trace, options.steps):
        device = Facts(measured.results).overview.device
        insights = judge(measured.results, measured.facts.gaps).insights
        known |= {insight.id for insight in insights}
        wanted = [insight for insight in insights if options.card in (None, insight.id)]
        found += [explain_card(span.path, insight, trace, device) for insight in wanted]
    if options.card and not found and not problems:
        return _not_there(options.card, sorted(known))
    if options.format == "json":
        print_json(Explanations(found))
    else:
        print_texts(map(explanation_text, found))
    return exit_code(problems)


def _not_there(card: str, known: Sequence[str]) -> int:
    from tb_steptime.text import did_you_mean

    cards = f"Its cards are: {', '.join(known)}." if known else "It has none."
    return refused(f"There is no card {card} for this trace.{did_you_mean(card, known)} {cards}")


COMMAND = Command(
    "explain",
    "print what a card rests on",
    "Print the cards of a trace as derivations: the measured evidence, how the gain follows from it, similar patterns "
    "that it is not, and the events of the longest time ranges.",
    _add_arguments,
    _run,
)
