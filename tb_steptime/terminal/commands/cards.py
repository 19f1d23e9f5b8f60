"""`tb-steptime explain TRACE [CARD]`: what a card rests on: its evidence, formula and events.
`tb-steptime whatif TRACE`: what the steps of a recording would take after changes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import Command, add_format, add_steps, exit_code, print_report, refused

if TYPE_CHECKING:
    from tb_steptime.ingest.states import Problem


def _add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="TRACE", type=any_path, help="a trace file or a log directory")
    parser.add_argument(
        "card",
        metavar="CARD",
        nargs="?",
        help="the id of a card, which stands in brackets behind its title here, such as launch_graphs; default: all "
        "cards of the trace",
    )
    add_steps(parser)
    add_format(parser, "table", "json")


def _run_explain(options: argparse.Namespace) -> int:
    from tb_steptime.insights import judge
    from tb_steptime.insights.facts import Facts
    from tb_steptime.terminal.explanation import Explanations, SpanCards, explain_card, span_cards_text
    from tb_steptime.terminal.output import span_heading_of
    from tb_steptime.terminal.spans import measured_trace, read_each

    problems: list[Problem] = []
    explained, card_ids = [], set[str]()
    for span, (trace, measured) in read_each([options.path], problems, measured_trace, options.steps):
        device = Facts(measured.results).overview.device
        insights = judge(measured.results, measured.facts.gaps).insights
        card_ids |= {insight.id for insight in insights}
        selected = [insight for insight in insights if options.card in (None, insight.id)]
        if selected or options.card is None:
            cards = [explain_card(span.path, insight, trace, device) for insight in selected]
            explained.append(SpanCards(span_heading_of(span), cards))
    if options.card and not explained and not problems:
        return _not_there(options.card, sorted(card_ids))
    return print_report(
        options.format,
        explained,
        problems,
        span_cards_text,
        lambda spans, _: Explanations([card for span in spans for card in span.cards]),
    )


def _not_there(card: str, available: Sequence[str]) -> int:
    from tb_steptime.text import did_you_mean

    cards = f"Its cards are: {', '.join(available)}." if available else "It has none."
    return refused(f"There is no card {card} for this trace.{did_you_mean(card, available)} {cards}")


def _add_whatif_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="TRACE", type=any_path, help="a trace file or a log directory")
    parser.add_argument(
        "--apply",
        nargs="+",
        default=(),
        metavar="ID",
        help="apply only these changes; default: all that make the step shorter",
    )
    add_steps(parser)
    add_format(parser, "table", "json")


def _run_whatif(options: argparse.Namespace) -> int:
    from tb_steptime.ingest.discovery import find_spans
    from tb_steptime.replay.whatif import what_if
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import print_json, print_texts
    from tb_steptime.terminal.ranks.jobs import Jobs, traced_alone, traced_rank
    from tb_steptime.terminal.ranks.report import job_what_if
    from tb_steptime.terminal.spans import read_found
    from tb_steptime.terminal.whatif_report import WIDTH, WhatIfReport, job_what_ifs, span_what_if, what_if_text

    problems: list[Problem] = []
    spans, jobs = [], Jobs()
    found_spans = list(find_spans([options.path], problems))
    read = traced_rank if len(found_spans) > 1 else traced_alone
    for span, (trace, measured) in read_found(found_spans, problems, read, options.steps):
        if measured is not None:
            jobs.add(span, measured)
        try:
            result = what_if(trace, options.apply)
        except ValueError as error:
            return refused(str(error))
        if result is not None:
            spans.append(span_what_if(span, result))
        elif options.format == "table":
            sys.stderr.write(f"{span.path}: no step has work on a GPU, so nothing can be replayed.\n")
    if options.format == "json":
        print_json(WhatIfReport(spans, [error_report(problem) for problem in problems], job_what_ifs(jobs.found())))
    else:
        print_texts([*map(what_if_text, spans), *(job_what_if(job, WIDTH) for job in jobs.found())])
    return exit_code(problems)


COMMANDS = (
    Command(
        "explain",
        "print what a card rests on",
        "Print the cards of a trace as derivations: the measured evidence, how the gain follows from it, similar "
        "patterns that it is not, and the events of the longest time ranges.",
        _add_explain_arguments,
        _run_explain,
    ),
    Command(
        "whatif",
        "print what changes would make of a step",
        "Replay a steady step of each recording as it is, with parts of it taking no time, and after changes: what "
        "each change gains, in which interval, and what it gains after the others. Ranks of a job are also replayed "
        "together.",
        _add_whatif_arguments,
        _run_whatif,
    ),
)
