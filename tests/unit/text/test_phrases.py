"""Sentences agree with their numbers, and the names in them fit."""

import pytest

from tb_steptime.insights.wording.card_text import CARD_LENGTH, fitted, length
from tb_steptime.text import Phrase, agreeing, code, filled, joined, label, ns, phrase, shortened, text
from tb_steptime.text.printer import plain

STEPS = "{n} (step is|steps are) slow (in | )all"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "{n} steps are slow  all"),
        (1, "{n} step is slow in all"),
        (1.0, "{n} step is slow in all"),
        (1.5, "{n} steps are slow  all"),
        (2, "{n} steps are slow  all"),
    ],
)
def test_words_agree_with_their_number(number: float, expected: str):
    assert agreeing(STEPS, number) == expected


def test_what_is_no_pair_stays():
    assert agreeing("{n} (of all) (one|two|three), {code}", 1) == "{n} (of all) (one|two|three), {code}"


@pytest.mark.parametrize(
    ("stands_alone", "inside"),
    [("Data loading", "data loading"), ("CPU, forward", "CPU, forward"), ("Other", "other"), ("", "")],
)
def test_a_label_inside_a_sentence_is_small(stands_alone: str, inside: str):
    assert label(stands_alone).value == inside


def test_a_long_name_loses_its_middle():
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 9) == "abcd…ghij"
    assert shortened("abcdefghij", 8) == "abcd…hij"


def told(first: str, second: str) -> Phrase:
    return phrase("{first} in {second} takes {time}: {flag}.", first=text(first), second=text(second),
                  time=ns(100_100_000), flag=code("fused=True"))  # fmt: skip


def test_the_length_of_a_text_is_that_of_its_words_with_the_longest_numbers():
    assert length(told("aten::add", "loop")) == len(plain(told("aten::add", "loop")))
    assert length(Phrase("{a}", {"a": text("abc"), "b": text("not in it")})) == 3


def test_names_of_a_card_are_shortened_until_it_fits_the_longest_first():
    short = told("aten::add", "loop")
    assert fitted(short) == short
    title = fitted(told("aten::add", "train.py/" * 30))
    assert (title.values["first"], len(plain(title))) == (text("aten::add"), CARD_LENGTH)
    both = fitted(told("a" * 200, "b" * 300))
    assert len(plain(both)) <= CARD_LENGTH


def test_joined_phrases_keep_their_values():
    both = joined(phrase("Wait {time}", time=ns(1)), phrase("gain {gain}", gain=ns(2)), by=": ")
    assert both == phrase("Wait {time}: gain {gain}", time=ns(1), gain=ns(2))
    with pytest.raises(ValueError, match="Two values of one name"):
        joined(phrase("{time}", time=ns(1)), phrase("{time}", time=ns(2)))


def test_a_chosen_template_gets_its_own_values_only():
    assert filled("{a} of {b}", {"a": ns(1), "b": ns(2), "c": ns(3)}) == phrase("{a} of {b}", a=ns(1), b=ns(2))
