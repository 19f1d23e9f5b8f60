"""Ops, blocking calls and copies of two drawn recordings, as complete tables."""

from __future__ import annotations

import pytest

from tb_steptime.comparison.row_changes import table_of, tables
from tests.drawn.timeline import timeline
from tests.unit.comparison.sides import side_of

#: Each step copies its batch, computes, and reads a number back.
READS = """
    step     | 0000000000001111111111112222222222222 |
    op       | ooommm.ii...ooommm.ii...ooommm.iii... |
    runtime  | .c..k..ds....c..k..ds....c..k..dss... |
    memcpy 7 | ..c....d......c....d......c....d..... |
    kernel 7 | .....kk..........kk..........kk...... |"""
NAMES = {"o": "aten::copy_", "m": "aten::mm", "i": "aten::item"}
CALLS = {"d": "cudaMemcpyAsync", "s": "cudaStreamSynchronize"}
COPIES = {"c": "Memcpy HtoD (Pageable -> Device)", "d": "Memcpy DtoH (Device -> Pageable)"}


def job(name, drawing=READS, **copies):
    return side_of(name, timeline(drawing, names={**NAMES, **COPIES, **copies}, calls=CALLS))


def rows_of(names, base, candidate):
    return [
        (row.base_name, row.candidate_name, row.matched_by, row.base_ns, row.candidate_ns, row.base_calls, row.status)
        for row in table_of(names, tables(base, candidate)).rows
    ]


def test_a_copy_from_pinned_memory_stands_for_the_one_from_pageable_memory():
    pinned = job("b", c="Memcpy HtoD (Pinned -> Device)")
    assert rows_of("copies", job("a"), pinned) == [
        ("DtoH Device → Pageable", "DtoH Device → Pageable", "name", 1_000, 1_000, 1.0, "alike"),
        ("HtoD Pageable → Device", "HtoD Pinned → Device", "place", 1_000, 1_000, 1.0, "alike"),
    ]


def test_a_number_that_is_read_back_no_more_is_gone_from_three_tables():
    without = READS.replace("iii", "...").replace("ii", "..").replace("dss", "...").replace("ds", "..")
    without = without.replace("d", ".")
    base, candidate = job("a"), job("b", without)
    (item,) = [row for row in rows_of("ops", base, candidate) if row[0] == "aten::item"]
    assert (item[1], item[-1]) == (None, "gone")
    (call,) = [row for row in rows_of("blocking", base, candidate) if "Synchronize" in (row[0] or "")]
    assert (call[1:3], call[-1]) == ((None, "base_only"), "gone")
    assert ("DtoH Device → Pageable", None, "base_only", 1_000, 0, 1.0, "gone") in rows_of("copies", base, candidate)


def test_ops_have_their_own_time_with_an_interval():
    slower = timeline("step | 00001111 |\n op | aaa.aa.. |")
    base, candidate = timeline("step | 00001111 |\n op | a...a... |"), slower
    (row,) = table_of("ops", tables(side_of("a", base), side_of("b", candidate))).rows
    assert (row.base_ns, row.candidate_ns, row.base_calls) == (1_000, 2_500, 1.0)
    assert (row.low + row.high) / 2 == pytest.approx(1_500)
    assert row.status == "alike", "two steps that differ by 1 us say little"


def test_a_side_without_a_gpu_has_ops_alone():
    on_cpu = side_of("b", timeline("step | 000111 |\n op | aaabbb |"))
    assert [table.of for table in tables(job("a"), on_cpu)] == ["ops"]
    assert [table.of for table in tables(job("a"), job("b"))] == ["kernels", "ops", "blocking", "copies"]
