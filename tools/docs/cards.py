"""What each card means: from the docstring of its rule, with the card that the demo recordings get as an example.

A rule's docstring says when it fires, then answers the questions of `insights/questions.py`, a paragraph each.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tb_steptime import cli
from tb_steptime.insights.rules import RULES, Gain, Rule
from tb_steptime.insights.rules.ranks import JOB_RULES, JobRule
from tools.docs.markdown import paragraphs, plain

#: The rules for a span, and for a job.
_ALL: dict[Rule | JobRule, Gain] = {**RULES, **dict.fromkeys(JOB_RULES, Gain.OVERLAPS)}

DEMO_LOGS = Path(__file__).resolve().parents[2] / "demo_logs"


class Example(NamedTuple):
    """A card of a demo recording: title, evidence and action in one text, as the command line prints it."""

    run: str
    text: str
    gain_ns: int


def card_ids() -> tuple[str, ...]:
    """A rule's name is the id of its card."""
    return tuple(rule.__name__ for rule in _ALL)


def named_cards(words: str) -> list[str]:
    """The ids that a page asks for: a folder of rules stands for all of them, "except" for all but those that follow.

    >>> named_cards("gpu except alignment layout_conversion slow_products tensor_cores_unused")[:3]
    ['dequantized_weights', 'double_precision', 'eager_attention']
    """
    wanted, _, without = words.partition(" except ")
    return [id for word in wanted.split() for id in _topic(word) or [word] if id not in without.split()]


def _topic(folder: str) -> list[str]:
    return [rule.__name__ for rule in _ALL if f".rules.{folder}." in rule.__module__]


def cards(words: str) -> str:
    """One section per card, in the order of the rules. KeyError for a card that no rule makes."""
    rules = {rule.__name__: rule for rule in _ALL}
    return "\n\n".join(_section(id, rules[id]) for id in named_cards(words))


_OVERLAPS = " It is never added to the gains of other cards."


def _section(id: str, rule: Rule | JobRule) -> str:
    fires, *answers = paragraphs(inspect.getdoc(rule) or "")
    text = [f"### `{id}`", plain(fires), "\n".join(_answer(each, _ALL[rule]) for each in answers)]
    example = examples().get(id)
    if example:
        text.append(f"For example, in `demo_logs/{example.run}`:\n\n> {plain(example.text)}")
    return "\n\n".join(text)


def _answer(paragraph: str, gain: Gain) -> str:
    """A line of the list under a card.

    >>> _answer("Gain: the idle time.", Gain.OVERLAPS)
    '- **Gain:** the idle time. It is never added to the gains of other cards.'
    """
    question, _, said = paragraph.partition(": ")
    alone = question == "Gain" and gain is Gain.OVERLAPS and not said.startswith("none")
    return f"- **{question}:** {plain(said)}{_OVERLAPS if alone else ''}"


@functools.cache
def examples() -> dict[str, Example]:
    """By card: the example with the largest gain in `demo_logs/`."""
    found: dict[str, Example] = {}
    for span in _summaries()["spans"]:
        for card in span["insights"]:
            example = Example(span["run"], card["text"], card["gain_ns"])
            if card["id"] not in found or example.gain_ns > found[card["id"]].gain_ns:
                found[card["id"]] = example
    return found


def _summaries() -> dict[str, list[dict[str, Any]]]:
    """The output of `tb-steptime summarize --format json demo_logs`."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = cli.main(["summarize", "--format", "json", str(DEMO_LOGS)])
    if code:
        sys.exit(f"The recordings in {DEMO_LOGS} cannot be read.")
    report: dict[str, list[dict[str, Any]]] = json.loads(printed.getvalue())
    return report
