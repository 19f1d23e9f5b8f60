"""Rows by expert in loops over experts that torch records here, with declared routing; and what looks similar."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tb_steptime.metrics.communication.expert_rows import ExpertRows, expert_rows
from tb_steptime.text import Reason
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.steps import as_one_step

torch = pytest.importorskip("torch", reason="torch is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable

TOKENS, WIDTH, EXPERTS = 64, 16, 4
#: How many tokens choose each expert first; the second choice of each is the next expert.
FIRST = (40, 4, 15, 5)
SECOND = (5, 40, 4, 15)
ONE, TWO = [40.0, 15.0, 5.0, 4.0], [45.0, 44.0, 20.0, 19.0]


class Layer(torch.nn.Module):  # type: ignore[misc,name-defined]
    """The first features of a token are what its router gives each expert."""

    def __init__(self, chosen: int, run: Callable[..., Any]) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(WIDTH, EXPERTS, bias=False)
        self.gate.weight.data = torch.eye(EXPERTS, WIDTH)
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(WIDTH, 24), torch.nn.SiLU(), torch.nn.Linear(24, WIDTH))
            for _ in range(EXPERTS)
        )
        self.chosen, self.run = chosen, run

    def forward(self, x: Any) -> Any:
        scores = self.gate(x).softmax(-1)
        if self.run is top_one:
            return self.run(self, x, *scores.max(-1))
        weights, chosen = scores.topk(self.chosen, dim=-1)
        return self.run(self, x, weights, chosen)


def index_add(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    """As Mixtral: each expert adds its rows."""
    out = torch.zeros_like(x)
    for number, expert in enumerate(layer.experts):
        token, place = torch.where(chosen == number)
        out.index_add_(0, token, expert(x[token]) * weights[token, place, None])
    return out


def hit_only(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    """As Transformers: experts without tokens are not called."""
    out = torch.zeros_like(x)
    for number in chosen.unique().tolist():
        token, place = torch.where(chosen == number)
        out.index_add_(0, token, layer.experts[number](x[token]) * weights[token, place, None])
    return out


def masked(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    out = torch.zeros_like(x)
    for number, expert in enumerate(layer.experts):
        mask = (chosen == number).any(-1)
        out[mask] += expert(x[mask])
    return out


def top_one(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    """As Switch: a maximum, and sequences that are not flattened."""
    x, out = x[None], torch.zeros_like(x)[None]
    for number, expert in enumerate(layer.experts):
        mask = (chosen == number)[None]
        out[mask] = expert(x[mask])
    return out[0]


def sorted_once(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    """As DeepSeek: tokens are sorted by expert, and return at once."""
    order = chosen.view(-1).argsort()
    rows, begin, outs = x[order // layer.chosen], 0, []
    for number, count in enumerate(chosen.view(-1).bincount(minlength=EXPERTS).tolist()):
        outs.append(layer.experts[number](rows[begin : begin + count]))
        begin += count
    out = torch.empty_like(rows)
    out[order] = torch.cat(outs)
    return (out.view(TOKENS, layer.chosen, WIDTH) * weights[..., None]).sum(1)


def dropping(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    """An expert takes 16 tokens, and no more."""
    out = torch.zeros_like(x)
    for number, expert in enumerate(layer.experts):
        token, place = torch.where(chosen == number)
        token, place = token[:16], place[:16]
        out.index_add_(0, token, expert(x[token]) * weights[token, place, None])
    return out


def choice_by_choice(layer: Layer, x: Any, weights: Any, chosen: Any) -> Any:
    """An expert is called for each choice, so its rows are those of two calls."""
    out = torch.zeros_like(x)
    for number, expert in enumerate(layer.experts):
        for place in range(layer.chosen):
            mask = chosen[:, place] == number
            out[mask] += expert(x[mask])
    return out


def tokens() -> Any:
    """The tokens with declared routing."""
    x = torch.randn(TOKENS, WIDTH)
    first = torch.repeat_interleave(torch.arange(EXPERTS), torch.tensor(FIRST))[torch.randperm(TOKENS)]
    x[:, :EXPERTS] = 0
    x[torch.arange(TOKENS), first] = 8
    x[torch.arange(TOKENS), (first + 1) % EXPERTS] = 4
    return x


def found(job: Callable[[], object], tmp_path: Path) -> ExpertRows | Reason | None:
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as recording:
        job()
    recording.export_chrome_trace(str(tmp_path / "trace.json"))
    return expert_rows(as_one_step(read_trace(tmp_path / "trace.json")))


@pytest.mark.parametrize(
    ("run", "chosen", "rows"),
    [
        (index_add, 2, TWO), (index_add, 1, ONE), (hit_only, 2, TWO), (masked, 2, TWO), (masked, 1, ONE),
        (top_one, 1, ONE), (sorted_once, 2, TWO), (sorted_once, 1, ONE),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kept", [True, False], ids=["training", "checkpointed"])
def test_rows_are_those_of_the_declared_routing(
    run: Callable[..., Any], chosen: int, rows: list[float], kept: bool, tmp_path: Path
):
    layers = [Layer(chosen, run) for _ in range(3)]
    inputs = [tokens().requires_grad_() for _ in layers]

    def train() -> None:
        for layer, x in zip(layers, inputs, strict=True):
            out = layer(x) if kept else torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
            torch.nn.functional.linear(out, torch.ones(8, WIDTH)).sum().backward()

    result = found(train, tmp_path)
    assert isinstance(result, ExpertRows)
    assert (result.rows, result.chosen, result.loops) == (rows, chosen, 3)
    assert sum(result.rows) == chosen * TOKENS
    assert result.busiest == rows[0] / (chosen * TOKENS / EXPERTS)
    assert 0 < result.share < 1


@pytest.mark.parametrize("run", [dropping, choice_by_choice])
def test_rows_that_do_not_sum_to_those_of_the_router_are_not_believed(run: Callable[..., Any], tmp_path: Path):
    layer, x = Layer(2, run), tokens().requires_grad_()
    assert found(lambda: layer(layer(x)).sum().backward(), tmp_path) == Reason("expert_rows_do_not_sum")


def test_one_loop_whose_rows_do_not_sum_withholds_all(tmp_path: Path):
    layers, x = [Layer(2, run) for run in (index_add, dropping, index_add)], tokens()
    assert found(lambda: [layer(x) for layer in layers], tmp_path) == Reason("expert_rows_do_not_sum")


def test_without_shapes_nothing_is_known(tmp_path: Path):
    layer, x = Layer(2, index_add), tokens()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recording:
        layer(x)
    recording.export_chrome_trace(str(tmp_path / "trace.json"))
    assert expert_rows(read_trace(tmp_path / "trace.json")) is None


def test_transformers_mixtral(tmp_path: Path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

    config = transformers.MixtralConfig(
        hidden_size=WIDTH, intermediate_size=24, num_local_experts=EXPERTS, num_experts_per_tok=2
    )
    config._experts_implementation = "eager"
    block, x = MixtralSparseMoeBlock(config), tokens()
    with torch.no_grad():
        for weight in block.parameters():
            weight.normal_(std=0.1)
        block.gate.weight.copy_(torch.eye(EXPERTS, WIDTH))
    result = found(lambda: block(x.view(2, -1, WIDTH)).sum().backward(), tmp_path)
    assert isinstance(result, ExpertRows)
    assert (result.rows, result.chosen, result.loops) == (TWO, 2, 1)


POINTS = torch.randn(TOKENS, WIDTH)
DENSE = torch.nn.Linear(WIDTH, WIDTH)


def heads() -> None:
    for head in POINTS.view(TOKENS, 4, 4).unbind(1):
        torch.nn.functional.linear(head, torch.randn(24, 4)) @ torch.randn(24, 4)


def branches() -> None:
    images, layers = torch.randn(2, 3, 8, 8), [torch.nn.Conv2d(3, 4, size, padding="same") for size in (1, 3, 5)]
    torch.cat([layer(images) for layer in layers], 1).sum().backward()


def mixture_of_losses() -> None:
    gate = torch.nn.Linear(WIDTH, EXPERTS)(POINTS).softmax(-1)
    weights, _ = gate.topk(2)
    outs = torch.stack([torch.nn.Linear(WIDTH, WIDTH)(POINTS) for _ in range(EXPERTS)], -1)
    ((outs * gate[:, None]).sum() + weights.sum()).backward()


def nearest() -> Any:
    return (POINTS @ POINTS.t()).topk(3).indices


def nearest_neighbours() -> None:
    DENSE(POINTS[nearest()]).amax(1).sum().backward()


def sums_over_neighbours() -> None:
    """Two layers over one graph: each product has the rows of all edges."""
    edges, x = nearest().flatten(), POINTS
    for _ in range(2):
        x = torch.zeros_like(x).index_add_(0, edges, DENSE(x[edges]))


def neighbour_by_neighbour() -> None:
    """Three nearest ones of 64 points among 16: products of 64 rows each."""
    out = torch.zeros_like(POINTS)
    for near in (POINTS @ POINTS[:16].t()).topk(3).indices.unbind(1):
        out.index_add_(0, near, DENSE(POINTS[near]))


def beam_search() -> None:
    words, texts = torch.nn.Embedding(32, WIDTH), torch.randint(32, (TOKENS,))
    for _ in range(3):
        best = torch.nn.functional.linear(DENSE(words(texts)), words.weight).topk(2).indices
        texts = best.flatten()[:TOKENS]


@pytest.mark.parametrize(
    "job",
    [heads, branches, mixture_of_losses, nearest_neighbours, sums_over_neighbours, neighbour_by_neighbour, beam_search],
)
def test_what_looks_similar_has_no_experts(job: Callable[[], None], tmp_path: Path):
    assert found(job, tmp_path) is None
