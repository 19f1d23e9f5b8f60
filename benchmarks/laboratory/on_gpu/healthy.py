"""Programs in which the GPU neither waits nor does needless work."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from benchmarks.laboratory.on_gpu.parts import Learner, block, conv_net, half, mlp, table
from benchmarks.laboratory.on_gpu.program import gpu_program
from benchmarks.laboratory.program import Run
from benchmarks.laboratory.programs.parts import FEATURES, Rows, epochs


def _in_half(learner: Learner, inputs: torch.Tensor, targets: torch.Tensor, *, reads: bool = False) -> Iterator[None]:
    while True:
        with half():
            _, loss = learner.step(inputs, targets)
        if reads:
            loss.item()
        yield


@gpu_program("healthy: large layers in BF16", shapes=True)
def layers(run: Run) -> Iterator[None]:
    return _in_half(Learner(mlp(8192, 4, 8192)), *table(8192, 8192))


@gpu_program("healthy: loss of long steps read", shapes=True)
def loss_read(run: Run) -> Iterator[None]:
    return _in_half(Learner(mlp(8192, 4, 8192)), *table(8192, 8192), reads=True)


@gpu_program("healthy: convolutions in BF16, channels last", shapes=True)
def convolutions(run: Run) -> Iterator[None]:
    inputs = torch.randn(128, 128, 56, 56, device="cuda").to(memory_format=torch.channels_last)
    learner = Learner(conv_net(128, 8).to(memory_format=torch.channels_last))
    return _in_half(learner, inputs, torch.randint(0, 10, (128,), device="cuda"))


class Transformer(nn.Module):
    def __init__(self, depth: int = 6, *, checkpointed: bool = False) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(8192, 1024), nn.Linear(1024, 10)
        self.layers, self.checkpointed = nn.ModuleList(block(1024, 16) for _ in range(depth)), checkpointed

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.words(tokens)
        for layer in self.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=False) if self.checkpointed else layer(hidden)
        return self.head(hidden.mean(1))


def _tokens(rows: int = 32, length: int = 512) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(0, 8192, (rows, length), device="cuda"), torch.randint(0, 10, (rows,), device="cuda")


@gpu_program("healthy: transformer in BF16", shapes=True)
def transformer(run: Run) -> Iterator[None]:
    return _in_half(Learner(Transformer()), *_tokens())


@gpu_program("healthy: transformer in BF16, without shapes")
def unshaped(run: Run) -> Iterator[None]:
    return _in_half(Learner(Transformer()), *_tokens())


@gpu_program("healthy: transformer in BF16, with stacks and memory", shapes=True, stacks=True, memory=True, active=2)
def recorded_all(run: Run) -> Iterator[None]:
    return _in_half(Learner(Transformer(depth=3)), *_tokens())


@gpu_program("healthy: compiled transformer", shapes=True)
def compiled(run: Run) -> Iterator[None]:
    model = Transformer().cuda()
    learner = Learner(model)
    learner.model = torch.compile(model)  # type: ignore[assignment]
    return _in_half(learner, *_tokens())


@gpu_program("healthy: large layers in TF32", shapes=True)
def tf32(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(8192, 3, 8192)), table(4096, 8192)
    while True:
        torch.backends.cuda.matmul.allow_tf32 = True
        learner.step(inputs, targets)
        torch.backends.cuda.matmul.allow_tf32 = False
        yield


@gpu_program("healthy: inference in BF16", shapes=True)
def inference(run: Run) -> Iterator[None]:
    model, (tokens, _) = Transformer().cuda().eval().bfloat16(), _tokens(64)
    with torch.inference_mode():
        while True:
            model(tokens)
            yield


@gpu_program("healthy: gradients of four batches", shapes=True)
def accumulated(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(4096, 4, 4096), table(4096, 4096)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    while True:
        optimizer.zero_grad()
        for _ in range(4):
            with half():
                loss = nn.functional.cross_entropy(model(inputs), targets) / 4
            loss.backward()
        optimizer.step()
        yield


@gpu_program("healthy: checkpointed activations", shapes=True)
def checkpointed(run: Run) -> Iterator[None]:
    return _in_half(Learner(Transformer(checkpointed=True)), *_tokens())


@gpu_program("healthy: workers that keep up", active=10)
def workers(run: Run) -> Iterator[None]:
    learner = Learner(mlp(8192, 4, FEATURES))
    for inputs, targets in epochs(run.loader(Rows(), batch_size=512, num_workers=8, pin_memory=True)):
        with half():
            batch = inputs.cuda(non_blocking=True).repeat(16, 1)
            learner.step(batch, targets.cuda(non_blocking=True).repeat(16))
        yield


@gpu_program("healthy: batches of several lengths", shapes=True)
def lengths(run: Run) -> Iterator[None]:
    learner, number = Learner(Transformer(depth=3)), 0
    while True:
        number += 1
        with half():
            learner.step(*_tokens(length=256 + 64 * (number % 5)))
        yield


@gpu_program("healthy: two streams that overlap", shapes=True)
def streams(run: Run) -> Iterator[None]:
    """Copies to the GPU run in a stream of their own, one batch ahead."""
    learner, (_, targets) = Learner(mlp(8192, 4, 8192)), table(4096, 8192)
    held, aside = torch.randn(4096, 8192).pin_memory(), torch.cuda.Stream()
    following = held.cuda()
    while True:
        batch = following
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            following = held.to("cuda", non_blocking=True)
        with half():
            learner.step(batch, targets)
        torch.cuda.current_stream().wait_stream(aside)
        following.record_stream(torch.cuda.current_stream())
        yield
