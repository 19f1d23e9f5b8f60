"""Numbers and sentences as printed in the terminal."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.text import Quantity, Unit, code, count, fraction, ns, phrase, text
from tb_steptime.text.printer import (
    GAP,
    duration,
    nbytes,
    number,
    percent,
    percent_exact,
    plain,
    printable,
    quantity,
    render,
)


@pytest.mark.parametrize(
    ("value_ns", "written"),
    [
        (0, "0 ms"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (12_400, "12 µs"),
        (999_400, "999 µs"),
        (999_600, "1.0 ms"),
        (177_604_112, "177.6 ms"),
        (999_600_000, "1.00 s"),
        (1_240_000_000, "1.24 s"),
        (9_994_000_000, "9.99 s"),
        (9_996_000_000, "10.0 s"),
        (42_149_000_000, "42.1 s"),
        (90_000_000_000, "1.5 min"),
        (-22_700_000, "-22.7 ms"),
    ],
)
def test_a_duration_has_a_fitting_unit(value_ns, written):
    assert duration(value_ns).replace(GAP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.1234, "0.123"), (12.06, "12.1"), (999.4, "999"), (999.5, "1000"), (1021.0, "1021"), (123_456.0, "123 456")],
)
def test_a_number_has_three_digits_or_all_before_the_point(value, written):
    assert number(value).replace(GAP, " ") == written


@pytest.mark.parametrize(
    ("value", "whole", "exact"),
    [
        (0, "0 %", "0.0 %"),
        (1, "100 %", "100.0 %"),
        (0.669, "67 %", "66.9 %"),
        (0.002, "0.2 %", "0.2 %"),
        (0.0146, "1.5 %", "1.5 %"),
        (0.08, "8 %", "8.0 %"),
        (0.0996, "10 %", "10.0 %"),
        (0.9, "90 %", "90.0 %"),
        (0.985, "98.5 %", "98.5 %"),
        (1.234, "123 %", "123.4 %"),
        (0.9984, "99.8 %", "99.8 %"),
        (0.99998, ">99.9 %", "100.0 %"),
        (0.0001, "<0.1 %", "0.0 %"),
    ],
)
def test_a_percentage_and_its_rest_are_equally_exact_and_0_or_100_only_when_the_fraction_is(value, whole, exact):
    assert percent(value).replace(GAP, " ") == whole
    assert percent_exact(value).replace(GAP, " ") == exact


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (2_221, "2 kB"),
        (1_159_569, "1.2 MB"),
        (1_240_000_000, "1 240 MB"),
        (10_400_000_000, "10.4 GB"),
    ],
)
def test_sizes_are_decimal(value, written):
    assert nbytes(value).replace(GAP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 B/s"), (250e6, "250 MB/s"), (1_488_000_000, "1.49 GB/s"), (29_640_000_000, "29.6 GB/s")],
)
def test_rates_are_in_gigabytes_from_one_on(value, written):
    assert quantity(Quantity(value, Unit.BYTES_PER_SECOND)).replace(GAP, " ") == written


@given(st.floats(0, 1e19, exclude_min=True))
def test_a_duration_is_read_back_to_its_last_digit(value_ns):
    digits, unit = duration(value_ns).rsplit(GAP, 1)
    per_unit = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}[unit]
    decimals = len(digits.partition(".")[2])
    read = float(digits.replace(GAP, "")) * per_unit
    assert math.isclose(read, value_ns, abs_tol=0.5001 * per_unit * 10**-decimals, rel_tol=1e-9)


def test_unknown_is_a_dash_in_every_unit():
    assert {quantity(Quantity(None, unit)) for unit in Unit} == {"–"}


def test_a_sentence_is_filled_and_its_stress_marked():
    sentence = phrase(
        "Load batches with {setting}: [up to {gain} a step ({share})], in {number} steps.",
        setting=code("num_workers=3"),
        gain=ns(59_300_000),
        share=fraction(0.334),
        number=count(12_500),
    )
    assert plain(sentence) == "Load batches with `num_workers=3`: up to 59.3 ms a step (33 %), in 12 500 steps."
    assert render(sentence, lambda words: f"<{words}>").count("<") == 1
    assert "<up to 59.3" in render(sentence, lambda words: f"<{words}>")


def test_brackets_of_a_name_are_not_marks_and_control_characters_do_not_pass():
    sentence = phrase("{name} is [slow].", name=text("void k<[1]>{int}(\x1b[31m\n)"))
    assert render(sentence, str.upper) == "void k<[1]>{int}(�[31m�) is SLOW."


@given(st.text())
def test_printable_text_cannot_steer_a_terminal(name):
    assert printable(name).isprintable()
    assert len(printable(name)) == len(name)
