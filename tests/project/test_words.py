"""`make words` prints every kind of sentence that a user can see, and all of them use the terms of the field."""

from __future__ import annotations

import re

import pytest

from tb_steptime.insights.wording.card_text import LATER
from tb_steptime.insights.wording.terms import TERMS
from tests import PROJECT
from tools.words import FRAGMENT, to_rewrite, words


def sections() -> dict[str, list[str]]:
    """The sentences by section. They are read once, when a test needs them."""
    return dict(words())


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("Labels and meanings", "Launches a step: Kernels, copies and sets that start on the GPU within the step."),
        ("What cards rest on", "Needs: CPU and GPU activity, with the launch calls."),
        ("Tables", "Length of the longest launch."),
        ("Verdicts and headlines", "{Gpu} starves for {caused} of the step: kernels are not launched in time."),
        ("Cards: host", "gc.freeze()  # after the first steps"),
        ("Titles, remarks and reasons", "The GPU is never idle"),
        ("Titles, remarks and reasons", "This GPU has no tensor cores."),
        ("Notes about a trace", "The whole recording counts as one step."),
        ("Errors and warnings", "This is a folder, not a trace"),
        ("Said by the tab itself", "The figures could not be loaded."),
        ("Said by the tab itself", "Sorted by {}, {}."),
    ],
)
def test_every_kind_of_sentence_is_there(section: str, sentence: str):
    assert sentence in sections()[section]


def test_sections_are_not_empty():
    assert all(sections().values())


def test_sentences_use_the_words_of_the_field_and_open_with_their_subject():
    assert list(to_rewrite()) == []


@pytest.mark.parametrize(
    ("sentence", "is_odd"),
    [
        ("Of kernel time, half is compiled code.", True),
        ("It fits. As far as disks allow.", True),
        ("Half of kernel time is compiled code.", False),
        ("Record better data, as much of it as fits.", False),
    ],
)
def test_fragments_are_found(sentence: str, is_odd: bool):
    assert bool(FRAGMENT.search(sentence)) is is_odd


def test_titles_of_cards_have_ten_words_at_most():
    texts = [path.read_text(encoding="utf-8") for path in (PROJECT / "tests" / "golden").glob("*.txt")]
    titles = {title for text in texts for title in re.findall(r"^\d+\. (.*) \([a-z_]+, [a-z]+, ", text, re.MULTILINE)}
    assert len(titles) > 10
    assert [title for title in titles if len(title.removeprefix(LATER).split()) > 10] == []


def test_each_term_that_is_explained_stands_in_a_sentence():
    text = "\n".join(sentence for sentences in sections().values() for sentence in sentences).lower()
    assert [term.words for term in TERMS if not any(word.lower() in text for word in term.words)] == []


def test_a_term_is_explained_in_one_line_and_once():
    terms = [word for term in TERMS for word in term.words]
    assert len(terms) == len(set(terms))
    assert [term.meaning for term in TERMS if len(term.meaning) > 120 or not term.meaning.endswith(".")] == []
