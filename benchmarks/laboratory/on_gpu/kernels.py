"""Programs whose kernels take longer than necessary."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.laboratory.on_gpu.parts import Learner, Precision, block, conv_net, half, mlp, table
from benchmarks.laboratory.on_gpu.program import gpu_program
from benchmarks.laboratory.program import Run

WIDTH = 4096


@gpu_program("products in FP32", {"tensor_cores_unused": ("tf32", "bf16")}, shapes=True)
def products(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(WIDTH, 6, WIDTH)), table(2048, WIDTH)
    while True:
        with Precision(run.change):
            learner.step(inputs, targets)
        yield


@gpu_program("products in FP32, without shapes", {"tensor_cores_unused": ("tf32", "bf16")})
def unshaped(run: Run) -> Iterator[None]:
    return products(run)


@gpu_program("convolutions in FP32", {"tensor_cores_unused": ("tf32", "bf16")}, shapes=True)
def convolutions(run: Run) -> Iterator[None]:
    learner = Learner(conv_net(128, 8))
    inputs, targets = torch.randn(64, 128, 56, 56, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    while True:
        with Precision(run.change):
            learner.step(inputs, targets)
        yield


@gpu_program("products in FP64", {"double_precision": (), "": ("fp32",)}, shapes=True)
def double(run: Run) -> Iterator[None]:
    dtype = torch.float32 if run.change else torch.float64
    learner, (inputs, targets) = Learner(mlp(2048, 4, 2048).to(dtype)), table(4096, 2048)
    inputs = inputs.to(dtype)
    while True:
        learner.step(inputs, targets)
        yield


@gpu_program("one constant in FP64", {"double_precision": ("fp32",), "tensor_cores_unused": ()}, shapes=True)
def promoted(run: Run) -> Iterator[None]:
    """A buffer that comes from numpy is in FP64, and so is everything that is computed with it."""
    dtype = torch.float32 if run.change else torch.float64
    learner, (inputs, targets) = Learner(mlp(1024, 3, 1024)), table(8192, 1024)
    scale = torch.ones(1024, dtype=dtype, device="cuda")
    while True:
        normal = (inputs * scale - (inputs * scale).mean(1, keepdim=True)) / (inputs * scale).std(1, keepdim=True)
        learner.step(normal.float(), targets)
        yield


class Attention(nn.Module):
    """Blocks of a transformer whose attention is either written out or torch's own."""

    def __init__(self, width: int, heads: int, depth: int, own: bool) -> None:
        super().__init__()
        self.mixed = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.heads, self.own, self.head = heads, own, nn.Linear(width, 10)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        for layer in self.mixed:
            query, key, value = (
                each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in layer(inputs).chunk(3, -1)
            )
            if self.own:
                weights = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5).softmax(-1)
                out = weights @ value
            else:
                out = nn.functional.scaled_dot_product_attention(query, key, value)
            inputs = inputs + out.transpose(1, 2).flatten(2)
        return self.head(inputs.mean(1))


@gpu_program("attention written out", {"eager_attention": ("sdpa",)}, shapes=True)
def attention(run: Run) -> Iterator[None]:
    learner = Learner(Attention(1024, 16, 4, own=not run.change))
    inputs, targets = torch.randn(8, 1024, 1024, device="cuda"), torch.randint(0, 10, (8,), device="cuda")
    while True:
        with half():
            learner.step(inputs, targets)
        yield


@gpu_program("sizes that are not aligned", {"slow_products": ("padded",), "alignment": ("padded",)}, shapes=True)
def misaligned(run: Run) -> Iterator[None]:
    width = 4096 if run.change else 4095
    learner, (inputs, targets) = Learner(mlp(width, 4, width)), table(4096, width)
    while True:
        with half():
            learner.step(inputs, targets)
        yield


@gpu_program("vocabulary that is not aligned", {"slow_products": ("padded",), "alignment": ("padded",)}, shapes=True)
def vocabulary(run: Run) -> Iterator[None]:
    head = nn.Linear(2048, 32_064 if run.change else 32_003, bias=False, device="cuda")
    optimizer = torch.optim.SGD(head.parameters(), lr=1e-4)
    inputs, targets = torch.randn(4096, 2048, device="cuda"), torch.randint(0, 32_000, (4096,), device="cuda")
    while True:
        with half():
            outputs = head(inputs)
        loss = nn.functional.cross_entropy(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@gpu_program("channels before pixels", {"layout_conversion": ("channels_last",)}, shapes=True)
def channels(run: Run) -> Iterator[None]:
    layout = torch.channels_last if run.change else torch.contiguous_format
    learner = Learner(conv_net(128, 8).to(memory_format=layout))
    inputs = torch.randn(128, 128, 56, 56, device="cuda").to(memory_format=layout)
    targets = torch.randint(0, 10, (128,), device="cuda")
    while True:
        with half():
            learner.step(inputs, targets)
        yield


class WrittenOut(nn.Module):
    """Layers whose activation and norm are written as one op after another."""

    def __init__(self, width: int, depth: int, own: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.own = own

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            hidden = layer(inputs)
            if self.own:
                hidden = 0.5 * hidden * (1 + torch.tanh(0.79788456 * (hidden + 0.044715 * hidden * hidden * hidden)))
                centered = hidden - hidden.mean(-1, keepdim=True)
                scale = (centered.square().mean(-1, keepdim=True) + norm.eps).rsqrt()
                inputs = inputs + centered * scale * norm.weight + norm.bias
            else:
                inputs = inputs + norm(nn.functional.gelu(hidden, approximate="tanh"))
        return inputs


@gpu_program("chains of small ops over large tensors", {"fusible_chains": ("compile", "fused")}, shapes=True)
def chains(run: Run) -> Iterator[None]:
    model = WrittenOut(1024, 3, own=run.change != "fused").cuda()
    called = torch.compile(model) if run.change == "compile" else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    inputs = torch.randn(32_768, 1024, device="cuda")
    while True:
        with half():
            loss = called(inputs).float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@gpu_program("batches copied again and again", {"device_copies": ("once",), "launch_graphs": ()}, shapes=True)
def copies(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 3, 1024)), table(16_384, 1024)
    while True:
        batch = inputs
        for _ in range(0 if run.change else 10):
            batch = batch.t().contiguous().t().contiguous()
        with half():
            learner.step(batch, targets)
        yield


@gpu_program("sequence joined token by token", {"device_copies": ("allocated",)}, shapes=True)
def joined(run: Run) -> Iterator[None]:
    """A cache that grows by torch.cat is copied as a whole for each token."""
    fresh = torch.randn(64, 1, 8192, device="cuda")
    layer = nn.Linear(8192, 8192, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        while True:
            cache = torch.empty(64, 64 if run.change else 0, 8192, device="cuda")
            for place in range(64):
                if run.change:
                    cache[:, place : place + 1] = fresh
                else:
                    cache = torch.cat([cache, fresh], 1)
            layer(cache.bfloat16())
            yield


@gpu_program("softmax over two long rows", {"small_grids": ("parts",)}, shapes=True)
def long_rows(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 3, 1024)), table(4096, 1024)
    rows = torch.randn(2, 16_000_000, device="cuda")
    while True:
        with torch.no_grad():
            if run.change:
                whole = rows.unflatten(1, (4000, 4000)).logsumexp(2).logsumexp(1)
                (rows - whole[:, None]).exp_()
            else:
                rows.softmax(1)
        with half():
            learner.step(inputs, targets)
        yield


@gpu_program(
    "gradient of a large embedding", {"": ("sparse",), "launch_graphs": (), "fused_optimizer": ()}, shapes=True
)
def embedding(run: Run) -> Iterator[None]:
    words = nn.Embedding(2_000_000, 128, sparse=bool(run.change), device="cuda")
    head = nn.Linear(128, 1024, device="cuda")
    optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=1e-3)
    tokens, targets = torch.randint(0, 2_000_000, (4096, 8), device="cuda"), torch.randint(0, 1024, (4096,)).cuda()
    while True:
        loss = nn.functional.cross_entropy(head(words(tokens).mean(1)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@gpu_program("activations checkpointed where memory is free", {"": ("kept",), "launch_graphs": ()}, shapes=True)
def checkpointed(run: Run) -> Iterator[None]:
    layers = nn.ModuleList(block(1024, 16) for _ in range(6)).cuda()
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-4, fused=True)
    inputs = torch.randn(16, 512, 1024, device="cuda")
    while True:
        hidden = inputs
        with half():
            for layer in layers:
                if run.change:
                    hidden = layer(hidden)
                else:
                    hidden = torch.utils.checkpoint.checkpoint(layer, hidden, use_reentrant=False)
        optimizer.zero_grad()
        hidden.float().square().mean().backward()
        optimizer.step()
        yield


@gpu_program(
    "heads of a network in one stream", {"small_grids": ("batched",), "launch_graphs": ("batched",)}, shapes=True
)
def narrow(run: Run) -> Iterator[None]:
    """Matrix products that run one after the other, although each fills only a few of the multiprocessors."""
    weights, inputs = torch.randn(64, 1024, 256, device="cuda") / 32, torch.randn(64, 256, 1024, device="cuda")
    with torch.no_grad():
        while True:
            for _ in range(3):
                if run.change:
                    inputs @ weights
                else:
                    [one @ weight for one, weight in zip(inputs, weights, strict=True)]
            yield
