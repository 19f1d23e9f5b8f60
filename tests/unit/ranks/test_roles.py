"""The purpose of a process group, from its name or from what it exchanges."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.ranks.collectives import role_of_class, role_of_group


def exchanged(kind: str, site: str, nbytes: int = 1_000_000, wrapper: str = "") -> ExchangeClass:
    return ExchangeClass(kind, None, nbytes, "BFloat16", site, wrapper)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("12 mesh_tp", "tensor_parallel"), ("TENSOR_MODEL_PARALLEL_GROUP", "tensor_parallel"),
        ("tp:0", "tensor_parallel"),
        ("EXPERT_MODEL_PARALLEL_GROUP", "expert_parallel"), ("mesh_ep", "expert_parallel"),
        ("mesh_pp", "pipeline"), ("PIPELINE_MODEL_PARALLEL_GROUP", "pipeline"),
        ("mesh_dp_shard_cp", "fsdp"), ("mesh_fsdp", "fsdp"), ("mesh_dp_replicate", "ddp"),
        ("0 default_pg", "unknown"), ("3 undefined", "unknown"), ("stepping", "unknown"),
    ],
)  # fmt: skip
def test_by_name(name: str, role: str):
    found, shown_by = role_of_group(name, {})
    assert found == role
    assert shown_by.code == ("role_not_shown" if role == "unknown" else "role_shown_by_name")


HOOKS, FORWARD, BACKWARD = "backward.hooks", "forward.model", "backward.nodes"


@pytest.mark.parametrize(
    ("counts", "role"),
    [
        ({exchanged("all_reduce", HOOKS): 5, exchanged("broadcast", "forward.buffer_broadcast"): 9}, "ddp"),
        ({exchanged("all_gather", FORWARD): 8, exchanged("reduce_scatter", HOOKS): 4}, "fsdp"),
        ({exchanged("all_reduce", FORWARD): 24, exchanged("all_reduce", BACKWARD): 24}, "tensor_parallel"),
        # layers that split the sequence: inference, and training
        ({exchanged("all_gather", FORWARD): 10, exchanged("reduce_scatter", FORWARD): 9}, "tensor_parallel"),
        (
            {exchanged(kind, site): 8 for kind in ("all_gather", "reduce_scatter") for site in (FORWARD, BACKWARD)},
            "tensor_parallel",
        ),
        ({exchanged("all_reduce", FORWARD): 24}, "unknown"),  # inference, or the statistics of a batch norm
        ({exchanged("all_to_all", FORWARD): 3, exchanged("all_reduce", HOOKS): 2}, "ddp"),  # tables of a recommender
        ({exchanged("all_to_all", FORWARD): 3}, "unknown"),
        ({exchanged("all_gather", FORWARD): 8}, "unknown"),
        ({exchanged("all_reduce", "optimizer", 4): 2}, "checks"),
        ({exchanged("all_reduce", "unknown"): 2}, "unknown"),  # what launched it is unknown
        ({exchanged("all_gather", "unknown"): 10, exchanged("reduce_scatter", "unknown"): 9}, "unknown"),
        (
            {exchanged("all_gather", FORWARD, wrapper="fsdp"): 8, exchanged("all_reduce", HOOKS, wrapper="fsdp"): 4},
            "fsdp",
        ),
    ],
)
def test_by_what_it_exchanges(counts: dict[ExchangeClass, int], role: str):
    assert role_of_group("0 default_pg", counts)[0] == role


@pytest.mark.parametrize(
    ("beside", "role"),
    [
        ({}, "expert_parallel"),
        ({exchanged("all_reduce", HOOKS): 2}, "ddp"),
        ({exchanged("all_reduce", "unknown"): 9}, "expert_parallel"),
    ],
)
def test_all_to_alls_that_route_tokens_are_of_experts(beside: dict[ExchangeClass, int], role: str):
    counts = {exchanged("all_to_all", FORWARD): 4, exchanged("all_to_all", BACKWARD): 4, **beside}
    assert role_of_group("0 default_pg", counts, routes=True)[0] == role
    assert role_of_group("0 default_pg", counts)[0] == ("ddp" if role == "ddp" else "unknown")
    assert [role_of_class(each, counts, True) for each in counts if each.kind == "all_to_all"] == [
        "expert_parallel"
    ] * 2
