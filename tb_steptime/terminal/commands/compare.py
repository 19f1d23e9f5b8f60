"""`tb-steptime compare BASE CANDIDATE…`: what changed between runs, for a person, a pull request or a CI job.

`compare BASE… -- CANDIDATE…` has several recordings a side.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tb_steptime.terminal.commands.base import (
    Command,
    add_format,
    add_names_from,
    add_paths,
    add_steps,
    exit_code,
    readable_width,
    refused,
)

if TYPE_CHECKING:
    from tb_steptime.comparison.gates import Gate, GateResult
    from tb_steptime.comparison.sides import Side
    from tb_steptime.ingest.compared import WorkerOfRun
    from tb_steptime.ingest.states import Problem
    from tb_steptime.ranks.scaling import Scaling

    Scalings = Sequence[Scaling | None]
    Sides = Sequence[tuple[WorkerOfRun, Side]]
    Results = Sequence[tuple[Gate, GateResult]]

#: Exit codes: a gate failed; something could not be read, or the arguments are wrong.
GATE_FAILED, NOT_COMPARED = 1, 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_steps(parser)
    add_names_from(parser)
    parser.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="RULE",
        help='exit with 1 if this rule holds for a candidate, such as "step_time>+5%%", "gpu_utilization<80%%", '
        '"data_loading_exposed>2ms"; may be given several times',
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="let gates fail by the mean alone, not only if the whole interval is beyond the limit, so that none is "
        "unclear",
    )
    parser.add_argument(
        "--ranks",
        action="store_true",
        help="read all ranks of each run, and print how efficient more ranks are and what costs the rest",
    )
    add_format(parser, "table", "json", "markdown")


def _run(options: argparse.Namespace) -> int:
    from tb_steptime.comparison.gates import GateError, parse_gate
    from tb_steptime.files.paths import any_path
    from tb_steptime.terminal.compared import WrongPathsError, compared_sides, pooled_sides

    problems: list[Problem] = []
    try:
        gates = [parse_gate(rule) for rule in options.fail_if]
        if options.others is not None:
            others = [any_path(each) for each in options.others]
            sides = pooled_sides(options.paths, others, problems, options.steps, options.names_from)
        else:
            sides = compared_sides(options.paths, problems, options.steps, options.names_from)
    except (GateError, WrongPathsError) as error:
        return refused(str(error), NOT_COMPARED)
    return _compare([] if problems else sides, gates, problems, options)


def _compare(sides: Sides, gates: Sequence[Gate], problems: list[Problem], options: argparse.Namespace) -> int:
    from tb_steptime.comparison.gates import judge_gate

    job_scalings: Scalings = [None] * len(sides[1:])
    if sides and options.ranks:
        from tb_steptime.terminal.ranks.report import scalings

        job_scalings = scalings([run for run, _ in sides], problems)
    results = [
        (gate, judge_gate(gate, sides[0][1], side, strict=options.strict)) for _, side in sides[1:] for gate in gates
    ]
    if options.format == "json":
        _print_json([] if problems else sides, job_scalings, results, problems)
    elif sides:
        _print_texts(sides, job_scalings, results, options.format)
    if exit_code(problems) or any(result.passed is None for _, result in results):
        return NOT_COMPARED
    return GATE_FAILED if any(result.passed is False for _, result in results) else 0


def _print_json(sides: Sides, job_scalings: Scalings, results: Results, problems: Sequence[Problem]) -> None:
    from tb_steptime.comparison.comparison import compare
    from tb_steptime.tables.comparison import ComparisonReport, candidate_report, side_report
    from tb_steptime.tables.notes import error_report
    from tb_steptime.terminal.output import print_json

    pairs = zip(sides[1:], job_scalings, strict=False)
    print_json(
        ComparisonReport(
            base=side_report(*sides[0]) if sides else None,
            candidates=[candidate_report(run, compare(sides[0][1], side), scaled) for (run, side), scaled in pairs],
            gates=[result for _, result in results],
            errors=[error_report(problem) for problem in problems],
        )
    )


def _print_texts(sides: Sides, job_scalings: Scalings, results: Results, format: str) -> None:
    from tb_steptime.comparison.comparison import compare
    from tb_steptime.terminal.compare_table import comparison_markdown, comparison_table, gate_line, gates_markdown
    from tb_steptime.terminal.output import print_texts
    from tb_steptime.terminal.ranks.report import scaling_paragraph

    width = readable_width()
    comparisons = [compare(sides[0][1], side) for _, side in sides[1:]]
    markdown = format == "markdown"
    texts = [comparison_markdown(each) if markdown else comparison_table(each, width) for each in comparisons]
    texts += [scaling_paragraph(each, width) for each in job_scalings if each is not None]
    if results:
        texts.append(gates_markdown(results) if markdown else "\n".join(gate_line(*each) for each in results))
    print_texts(texts)


COMMAND = Command(
    "compare",
    "compare runs",
    "Compare runs with a base: what changed in a step, by how much, whether it is more than noise, and why. "
    "With BASE... -- CANDIDATE..., each side has several recordings, and their differences count as noise. Exit code: "
    "0, also if a gate is unclear; 1 if a gate failed; 2 if something could not be read "
    "or measured, or for an invalid call.",
    _add_arguments,
    _run,
)
