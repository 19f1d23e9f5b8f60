"""Kernels of graphs get the ops, modules, lines and phases of an eager
recording of the same job, and of no other job."""

from __future__ import annotations

import pytest

from tb_steptime.analyses.operators import analyse
from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.operators.table import OpGrouping, operator_tables
from tb_steptime.metrics.replays.labels import labelled
from tb_steptime.metrics.roofline.utilization import model_gflop
from tb_steptime.trace.ops import graph_kernels, kernel_origins
from tests.drawn.real_traces import on_real_traces, read_real, real_path
from tests.truth.captured import LEAST_KERNELS, MOST_WITHOUT_OP, captured, right_fraction

#: By kind of change, the least share of kernel time that gets the right op, module, line and phase.
LEAST = {"": 0.97, "replaced": 0.90, "fused": 0.90}


@on_real_traces
def test_an_eager_recording_names_its_own_kernels_again(name):
    trace = read_real(name)
    if len(trace.kernels) < LEAST_KERNELS or (kernel_origins(trace).op < 0).mean() > MOST_WITHOUT_OP:
        pytest.skip("it has few kernels, or does not say which ops launched them")
    for changed, least in LEAST.items():
        share = right_fraction(trace, changed)
        assert share is None or share >= least, changed


def test_a_training_in_graphs_gets_the_labels_of_the_eager_one():
    eager, graphed = (
        read_real(real_path(f"traces_world/rtx5080_train_{way}.json.gz")) for way in ("eager", "graphed_callables")
    )
    found = labelled(graphed, eager)
    assert found is not None
    assert found.named_fraction > 0.99
    assert found.labelled_fraction > 0.99
    # Both trainings compute the same, and now both tables of ops show it.
    device = main_device(eager)
    assert model_gflop(found.trace, device).value == pytest.approx(model_gflop(eager, device).value)
    launches = [
        {
            row.name: row.launches
            for row in operator_tables(trace, [OpGrouping()])[0]
            if row.name in ("aten::mm", "aten::sum")
        }
        for trace in (eager, found.trace)
    ]
    assert launches[0] == launches[1] != {}


def test_another_implementation_of_a_model_names_nothing():
    eager, graphed = (read_real(real_path(f"traces_world/l40_llm_{way}.json.gz")) for way in ("eager", "cudagraph"))
    found = labelled(graphed, eager)
    assert found is not None
    assert found.named_fraction < 0.05
    assert found.labelled_fraction == 0
    assert found.trace is graphed


@pytest.mark.parametrize("name", ["hta_a100_ddp_nccl/nccl_data.json.gz", "tracelens_h100_bert/bert-small.json.gz"])
def test_labels_move_device_time_between_ops_and_lose_none(name):
    eager = read_real(name)
    case = captured(eager)
    found = labelled(case.trace, eager)
    assert found is not None
    assert graph_kernels(found.trace).any()
    views = [analyse(trace) for trace in (case.trace, found.trace)]
    without, with_labels = (
        sum(row.device_self_ns or 0 for row in view.tables[0].rows) + (view.tables[0].rest.device_self_ns or 0)
        for view in views
    )
    assert without + views[0].outside.device_ns == with_labels + views[1].outside.device_ns
    assert with_labels > without
