"""How well one recording predicts the memory at other batches: `python -m benchmarks.memory_fit [NAME ...]`.

Each model is trained for a few steps on the CPU at one batch and recorded with profile_memory=True and
record_shapes=True; then at five other batches. Printed is the predicted peak over the measured one, which the allocator
events of the other recordings tell. The rules were made on half of the models; the others are measured only.

`--checkpoint` instead trains models whose modules of one class are checkpointed, and prints what that saves at the peak
and takes of a step, the predicted over the measured. `--optimizer` predicts from a recording with each optimizer the
peak with each other one, `--type` from FP32 that of a training all in BF16, `--length` that of other sequences.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from tb_steptime.ingest.measure import read_file
from tb_steptime.metrics.memory.allocations import allocations
from tb_steptime.metrics.memory.curves import Place, memory_devices
from tb_steptime.metrics.memory.fit.checkpoints import Checkpoint, checkpoints
from tb_steptime.metrics.memory.fit.fit import MemoryFit, memory_fit, peak_at
from tb_steptime.metrics.memory.fit.predictions import settings
from tb_steptime.metrics.memory.fit.scaled import LENGTHS
from tb_steptime.metrics.memory.peak import step_peaks
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Float64

#: Multiples of the recorded batch.
FACTORS = (0.5, 1.5, 2, 3, 4)
GOAL = 0.05
#: Goals for the bytes that a checkpoint saves, and for the time that it takes.
BYTES_GOAL, TIME_GOAL = 0.10, 0.15
STEPS = 3
#: For a time: recordings that predict it, and in each round twice as many steps without and with checkpoints that
#: measure it; the quantile of these that counts.
ROUNDS, PAIRS, FAST = 8, 5, 0.05


class Training(NamedTuple):
    """model: creates it; batch: the recorded one; data: (inputs, targets) of a batch; measured_only: the rules were
    made without it.
    """

    model: Callable[[], nn.Module]
    batch: int
    data: Callable[[int], tuple[Tensor, Tensor]]
    optimizer: Callable[..., torch.optim.Optimizer]
    measured_only: bool = False


def pictures(channels: int, size: int, classes: int = 10) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda batch: (torch.randn(batch, channels, size, size), torch.randint(classes, (batch,)))


def vectors(width: int, classes: int = 10) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda batch: (torch.randn(batch, width), torch.randint(classes, (batch,)))


def series(length: int, width: int, classes: int = 10) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda batch: (torch.randn(batch, length, width), torch.randint(classes, (batch,)))


def tokens(length: int, words: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    return lambda batch: (torch.randint(words, (batch, length)), torch.randint(words, (batch, length)))


def mlp(*widths: int, between: Callable[[int], nn.Module] = lambda _: nn.ReLU()) -> nn.Module:
    layers: list[nn.Module] = []
    for wide, next_wide in itertools.pairwise(widths):
        layers += [nn.Linear(wide, next_wide), between(next_wide)]
    return nn.Sequential(*layers[:-1])


def cnn(norm: Callable[[int], nn.Module], width: int, size: int, act: Callable[[], nn.Module] = nn.ReLU) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), norm(width), act(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), norm(2 * width), act(), nn.AdaptiveAvgPool2d(4),
        nn.Flatten(), nn.Linear(32 * width, 10),
    )  # fmt: skip


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.first, self.second = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(self.two(functional.relu(self.first(self.one(x))))))


class Last(nn.Module):
    """Classifies the last output of a recurrent net."""

    def __init__(self, net: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.net, self.head = net, nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.net(x)[0][:, -1])


class Language(nn.Module):
    """Maps tokens to tokens through layers of the same width; with a causal mask where requested."""

    def __init__(self, words: int, width: int, body: nn.Module, causal: bool = False) -> None:
        super().__init__()
        self.words, self.body, self.head = nn.Embedding(words, width), body, nn.Linear(width, words)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.words(x)
        if self.causal:
            return self.head(self.body(hidden, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1])))
        hidden = self.body(hidden)
        return self.head(hidden[0] if isinstance(hidden, tuple) else hidden)


class Attention(nn.Module):
    """Attention written out, which keeps the scores."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))


class Fused(Attention):
    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, attention: nn.Module) -> None:
        super().__init__()
        self.attention, self.mlp = attention, mlp(width, 4 * width, width, between=lambda _: nn.GELU())
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


def encoder(width: int, layers: int, dropout: float = 0.0, batch_first: bool = True) -> nn.Module:
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=dropout, batch_first=batch_first)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


SGD, MOMENTUM, ADAM = (
    lambda params: torch.optim.SGD(params, lr=0.01),
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9),
    lambda params: torch.optim.Adam(params, lr=0.001),
)

TRAININGS: dict[str, Training] = {
    "mlp": Training(lambda: mlp(784, 256, 128, 10), 32, vectors(784), SGD),
    "mlp_adam": Training(lambda: mlp(784, 256, 128, 10), 32, vectors(784), ADAM),
    "mlp_of_batch_width": Training(lambda: mlp(256, 64, 64, 64, 10), 64, vectors(256), SGD),
    "mlp_small_batch": Training(lambda: mlp(100, 300, 300, 10), 4, vectors(100), MOMENTUM),
    "mlp_batch_norm": Training(lambda: mlp(100, 200, 200, 10, between=nn.BatchNorm1d), 16, vectors(100), SGD),
    "cnn_batch_norm": Training(lambda: cnn(nn.BatchNorm2d, 16, 32), 8, pictures(3, 32), SGD),
    "cnn_group_norm": Training(lambda: cnn(lambda n: nn.GroupNorm(4, n), 16, 32), 8, pictures(3, 32), ADAM),
    "cnn_plain": Training(lambda: cnn(lambda _: nn.Identity(), 24, 28), 16, pictures(3, 28), MOMENTUM),
    "residual": Training(
        lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), Residual(16), Residual(16), nn.Flatten(),
                              nn.Linear(16 * 256, 10)), 8, pictures(3, 16), SGD,
    ),
    "lstm": Training(lambda: Last(nn.LSTM(32, 64, batch_first=True), 64), 16, series(20, 32), ADAM),
    "gru_language": Training(lambda: Language(200, 64, nn.GRU(64, 64, batch_first=True)), 8, tokens(24, 200), SGD),
    "encoder": Training(lambda: Language(200, 64, encoder(64, 2)), 8, tokens(32, 200), ADAM),
    "encoder_dropout": Training(lambda: Language(200, 64, encoder(64, 2, 0.1)), 8, tokens(32, 200), SGD),
    "attention_written_out": Training(
        lambda: Language(100, 64, nn.Sequential(*(Block(64, Attention(64, 4)) for _ in range(2)))), 6, tokens(40, 100),
        ADAM,
    ),
    "embedding": Training(lambda: Language(2000, 32, nn.Identity()), 16, tokens(16, 2000), SGD),
    "cnn_instance_norm": Training(
        lambda: cnn(nn.InstanceNorm2d, 16, 24, nn.SiLU), 6, pictures(3, 24), SGD
    ),
    # Measured only.
    "mlp_tanh": Training(lambda: mlp(64, 512, 512, 512, 10, between=lambda _: nn.Tanh()), 24, vectors(64), ADAM, True),
    "mlp_dropout": Training(
        lambda: mlp(300, 256, 256, 10, between=lambda _: nn.Dropout(0.2)), 32, vectors(300), MOMENTUM, True
    ),
    "mlp_layer_norm": Training(lambda: mlp(128, 128, 128, 128, 10, between=nn.LayerNorm), 128, vectors(128), SGD, True),
    "mlp_odd": Training(lambda: mlp(77, 91, 133, 10, between=lambda _: nn.SiLU()), 13, vectors(77), ADAM, True),
    "cnn_gelu": Training(lambda: cnn(nn.BatchNorm2d, 12, 32, nn.GELU), 12, pictures(3, 32), ADAM, True),
    "cnn_of_batch_width": Training(lambda: cnn(nn.BatchNorm2d, 16, 32), 16, pictures(3, 32), MOMENTUM, True),
    "residual_deep": Training(
        lambda: nn.Sequential(nn.Conv2d(3, 12, 3), *(Residual(12) for _ in range(4)), nn.AdaptiveAvgPool2d(2),
                              nn.Flatten(), nn.Linear(48, 10)), 10, pictures(3, 20), ADAM, True,
    ),
    "rnn": Training(lambda: Last(nn.RNN(16, 48, num_layers=2, batch_first=True), 48), 12, series(30, 16), SGD, True),
    "gru": Training(lambda: Last(nn.GRU(24, 48, batch_first=True), 48), 16, series(25, 24), MOMENTUM, True),
    "lstm_language": Training(
        lambda: Language(150, 48, nn.LSTM(48, 48, num_layers=2, batch_first=True)), 8, tokens(20, 150), ADAM, True
    ),
    "encoder_causal": Training(lambda: Language(300, 32, encoder(32, 3), causal=True), 4, tokens(48, 300), ADAM, True),
    "fused_attention": Training(
        lambda: Language(128, 64, nn.Sequential(*(Block(64, Fused(64, 4)) for _ in range(3)))), 8, tokens(32, 128),
        SGD, True,
    ),
    "attention_long": Training(
        lambda: Language(64, 32, nn.Sequential(Block(32, Attention(32, 2)))), 4, tokens(96, 64), ADAM, True
    ),
    "embedding_large": Training(lambda: Language(5000, 16, nn.Identity()), 4, tokens(8, 5000), ADAM, True),
    "conv_1d": Training(
        lambda: nn.Sequential(nn.Conv1d(8, 32, 5), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 32, 5, stride=2),
                              nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 10)),
        16, lambda batch: (torch.randn(batch, 8, 100), torch.randint(10, (batch,))), MOMENTUM, True,
    ),
}  # fmt: skip


class Conditioned(nn.Module):
    """Convolutions by depth and by point, with channels weighted by what the picture shows."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.deep = nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False)
        self.point, self.norm = nn.Conv2d(width, width, 1, bias=False), nn.GroupNorm(4, width)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width // 4, 1), nn.ReLU(),
                                     nn.Conv2d(width // 4, width, 1), nn.Sigmoid())  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        made = functional.hardswish(self.norm(self.point(self.deep(x))))
        return x + made * self.squeeze(made)


class Hourglass(nn.Module):
    """Down by a strided convolution, up by a transposed one, and the input beside the result."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 2, stride=2)
        self.up, self.last = nn.ConvTranspose2d(2 * width, width, 2, stride=2), nn.Conv2d(2 * width, 10, 1)

    def forward(self, x: Tensor) -> Tensor:
        wide = functional.leaky_relu(self.first(x), 0.1)
        up = self.up(functional.leaky_relu(self.down(wide), 0.1))
        return self.last(torch.cat((wide, up), 1)).mean((2, 3))


class Patches(nn.Module):
    """Attention between patches of a picture and one learned token."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, width, 4, stride=4), nn.Parameter(torch.zeros(1, 1, width))
        self.body = nn.Sequential(*(Block(width, Fused(width, 4)) for _ in range(layers)))
        self.places, self.out = nn.Parameter(torch.zeros(1, 65, width)), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        cut = self.patches(x).flatten(2).transpose(1, 2)
        whole = torch.cat((self.token.expand(len(x), -1, -1), cut), 1) + self.places
        return self.out(self.body(whole)[:, 0])


class Mixer(nn.Module):
    """Layers along the sequence and along the features by turns."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.along, self.across = (mlp(side, 2 * side, side, between=lambda _: nn.GELU()) for side in (length, width))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.along(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.across(self.second(x))


class Pooled(nn.Module):
    """The mean over the sequence, classified."""

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).mean(1))


class Decoder(nn.Module):
    """Queries that are learned attend to a series."""

    def __init__(self, width: int, queries: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, queries, width))
        layer = nn.TransformerDecoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.layers, self.head = nn.TransformerDecoder(layer, 2), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(self.queries.expand(len(x), -1, -1), x).mean(1))


def temporal(width: int) -> nn.Module:
    """Convolutions along time whose steps grow."""
    layers: list[nn.Module] = [nn.Conv1d(6, width, 3, padding=1)]
    for apart in (1, 2, 4):
        layers += [nn.Conv1d(width, width, 3, padding=apart, dilation=apart), nn.BatchNorm1d(width), nn.ELU()]
    return nn.Sequential(*layers, nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(width, 10))


def deep_pictures() -> nn.Module:
    layers: list[nn.Module] = []
    for before, width in ((3, 24), (24, 24), (24, 48), (48, 48)):
        layers += [nn.Conv2d(before, width, 3, padding=1), nn.LeakyReLU(0.1, inplace=True)]
        layers += [nn.AvgPool2d(2)] if before == width else []
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(48 * 64, 64), nn.ReLU(), nn.Linear(64, 10))


#: Written after the rules had been finished, and measured once.
TRAININGS |= {
    "pictures_deep": Training(deep_pictures, 8, pictures(3, 32), MOMENTUM, True),
    "pictures_by_depth": Training(
        lambda: nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), Conditioned(24), Conditioned(24), nn.AdaptiveAvgPool2d(1),
                              nn.Flatten(), nn.Linear(24, 10)), 12, pictures(3, 32), ADAM, True,
    ),
    "hourglass": Training(lambda: Hourglass(16), 6, pictures(3, 32), SGD, True),
    "patches": Training(lambda: Patches(64, 2), 8, pictures(3, 32), ADAM, True),
    "mixer_of_batch_width": Training(
        lambda: Pooled(nn.Sequential(Mixer(32, 64), Mixer(32, 64)), 64), 64, series(32, 64), SGD, True
    ),
    "temporal": Training(lambda: temporal(40), 20, lambda batch: (
        torch.randn(batch, 6, 128), torch.randint(10, (batch,))), ADAM, True),
    "lstm_both_ways": Training(
        lambda: Last(nn.LSTM(24, 40, batch_first=True, bidirectional=True), 80), 12, series(30, 24), MOMENTUM, True
    ),
    "bag_of_words": Training(
        lambda: Pooled(nn.Sequential(nn.Embedding(800, 48), nn.Linear(48, 96), nn.Softplus(), nn.Linear(96, 48)), 48),
        16, lambda batch: (torch.randint(800, (batch, 40)), torch.randint(10, (batch,))), ADAM, True,
    ),
    "decoder": Training(lambda: Decoder(48, 12), 10, series(36, 48), ADAM, True),
    "gru_deep": Training(lambda: Last(nn.GRU(32, 64, num_layers=2, batch_first=True, dropout=0.1), 64), 24,
                         series(16, 32), ADAM, True),
}  # fmt: skip


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up, self.down = (
            nn.Linear(width, 3 * width),
            nn.Linear(width, 3 * width),
            nn.Linear(3 * width, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(functional.silu(self.gate(x)) * self.up(x))


class Stage(nn.Module):
    """Convolution, norm and activation; the result of the last one is the input of the next stage."""

    def __init__(self, before: int, width: int, act: Callable[[], nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), act()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


def stages(*widths: int, act: Callable[[], nn.Module] = nn.ReLU) -> nn.Module:
    made = [Stage(before, width, act) for before, width in itertools.pairwise((3, *widths))]
    return nn.Sequential(*made, nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * widths[-1], 10))


def blocks(make: Callable[[], nn.Module], width: int, count: int, words: int = 100) -> nn.Module:
    return Language(words, width, nn.Sequential(*(make() for _ in range(count))))


#: Trainings, and the class whose modules are checkpointed: larger than those above, since ops of a few microseconds
#: take less time than a checkpoint's own Python.
CHECKPOINTED: dict[str, tuple[Training, str]] = {
    "blocks": (Training(lambda: blocks(lambda: Block(128, Attention(128, 4)), 128, 4), 16, tokens(64, 100), ADAM),
               "Block"),
    "blocks_attention": (
        Training(lambda: blocks(lambda: Block(128, Attention(128, 4)), 128, 4), 16, tokens(64, 100), SGD), "Attention"
    ),
    "gated": (Training(lambda: blocks(lambda: Gated(192), 192, 4), 16, tokens(64, 100), MOMENTUM), "Gated"),
    "residual": (
        Training(lambda: nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *(Residual(32) for _ in range(4)),
                                       nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10)),
                 16, pictures(3, 32), SGD), "Residual",
    ),
    "stages": (Training(lambda: stages(32, 32, 64), 16, pictures(3, 32), ADAM), "Stage"),
    # Measured only.
    "encoder": (Training(lambda: Language(100, 128, encoder(128, 4)), 16, tokens(64, 100), ADAM, True),
                "TransformerEncoderLayer"),
    "encoder_dropout": (Training(lambda: Language(100, 96, encoder(96, 6, 0.1)), 24, tokens(48, 100), SGD, True),
                        "TransformerEncoderLayer"),
    "blocks_fused": (
        Training(lambda: blocks(lambda: Block(160, Fused(160, 4)), 160, 3), 12, tokens(80, 100), MOMENTUM, True),
        "Block",
    ),
    "blocks_mlp": (
        Training(lambda: blocks(lambda: Block(128, Fused(128, 4)), 128, 4), 16, tokens(64, 100), ADAM, True), "Fused",
    ),
    "stages_silu": (Training(lambda: stages(24, 48, 48, 48, act=nn.SiLU), 12, pictures(3, 32), SGD, True), "Stage"),
    "mixer": (Training(lambda: Pooled(nn.Sequential(*(Mixer(64, 128) for _ in range(4))), 128), 24, series(64, 128),
                       SGD, True), "Mixer"),
    "pictures_by_depth": (
        Training(lambda: nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *(Conditioned(64) for _ in range(3)),
                                       nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
                 12, pictures(3, 32), ADAM, True), "Conditioned",
    ),
    "patches": (Training(lambda: Patches(128, 4), 16, pictures(3, 32), ADAM, True), "Block"),
}  # fmt: skip


def checkpoint_every(model: nn.Module, name: str) -> None:
    """Checkpoints modules in the same way as the setting that is to be copied."""
    for module in model.modules():
        if type(module).__name__ == name:
            module.forward = partial(checkpoint, module.forward, use_reentrant=False)


class Loop:
    """A training, step by step, with the modules of a class checkpointed where one is named."""

    def __init__(
        self, training: Training, batch: int, checkpointed: str | None = None, dtype: torch.dtype = torch.float32
    ) -> None:
        torch.manual_seed(0)
        self.training, self.batch, self.dtype = training, batch, dtype
        self.model = training.model().to(dtype)
        if checkpointed is not None:
            checkpoint_every(self.model, checkpointed)
        self.optimizer = training.optimizer(self.model.parameters())

    def step(self) -> None:
        inputs, targets = self.training.data(self.batch)
        inputs = inputs.to(self.dtype) if inputs.is_floating_point() else inputs
        self.optimizer.zero_grad()
        said = self.model(inputs)
        functional.cross_entropy(said.flatten(0, -2), targets.flatten()).backward()
        self.optimizer.step()

    def seconds(self) -> float:
        """The CPU time that a step takes."""
        before = time.process_time()
        self.step()
        return time.process_time() - before


def record(loop: Loop, path: Path, stacks: bool = False) -> Trace:
    """Records a few steps, after one that is not recorded."""
    loop.step()
    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True, with_stack=stacks
    ) as profiler:
        for _ in range(STEPS):
            loop.step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return alone(read_file(str(path)))


def alone(trace: Trace) -> Trace:
    """The trace with totals of what this recording allocates: the allocator's totals count the whole process."""
    found = allocations(trace)
    kept = np.zeros(len(trace.memory), bool)
    kept[found.born] = True
    kept[found.died[found.died >= 0]] = True
    table = trace.memory.where(kept)
    return replace(trace, memory=replace(table, allocated=np.cumsum(table.bytes)), memo={})


def errors(training: Training, path: Path) -> list[float] | None:
    """Predicted over measured, minus 1, at each factor; None where nothing is predicted."""
    trace = record(Loop(training, training.batch), path)
    (place,) = memory_devices(trace)
    fit = memory_fit(trace, place)
    if not isinstance(fit, MemoryFit) or fit.batch != training.batch:
        return None
    batches = [round(training.batch * factor) for factor in FACTORS]
    measured = [max(step_peaks(record(Loop(training, batch), path), place)[1:]) for batch in batches]
    return [peak_at(fit.lines, batch) / most - 1 for batch, most in zip(batches, measured, strict=True)]


class Checkpointed(NamedTuple):
    """What checkpoints save and cost. saved: bytes at the peak, predicted and measured; rounds: (rounds, 1 + 2 x steps)
    in seconds, the predicted time per step, then that of each step without and with checkpoints.
    """

    saved: tuple[float, float]
    rounds: Float64

    def took(self) -> tuple[float, float]:
        """The predicted and the measured seconds. Other work on the machine lengthens some steps and shortens none, and
        the prediction takes ops as fast as they run undisturbed; so a fast step without checkpoints is compared with a
        fast one with them.
        """
        return _took(self.rounds)

    def error(self) -> tuple[float, float, float]:
        """The predicted over the measured time, minus 1, and the range in which it is in 95 of 100 resamplings of the
        rounds.
        """
        drawn = np.random.default_rng(0).integers(len(self.rounds), size=(2000, len(self.rounds)))
        ratios = [said / took for said, took in (_took(self.rounds[each]) for each in drawn)]
        low, high = np.quantile(ratios, (0.025, 0.975))
        said, took = self.took()
        return said / took - 1, float(low) - 1, float(high) - 1


def _took(rounds: Float64) -> tuple[float, float]:
    plain, again = (np.quantile(steps, FAST) for steps in np.split(rounds[:, 1:], 2, axis=1))
    return float(np.median(rounds[:, 0])), float(again - plain)


def checkpointed(training: Training, name: str, path: Path) -> Checkpointed:
    """Predictions and measurements alternate, so that a drift of the machine affects both alike."""
    plain, again = Loop(training, training.batch), Loop(training, training.batch, name)
    first = record(plain, path, stacks=True)
    (place,) = memory_devices(first)
    fit, measured = memory_fit(first, place), max(step_peaks(record(again, path), place)[1:])
    assert isinstance(fit, MemoryFit)
    rounds = [(_again(plain, path, name), *_steps(plain, again)) for _ in range(ROUNDS)]
    saved = fit.peak_bytes - peak_at(_of_class(first, place, name).lines, fit.batch)
    return Checkpointed((saved, fit.peak_bytes - measured), np.array(rounds))


def _again(loop: Loop, path: Path, name: str) -> float:
    """Predicted seconds."""
    trace = record(loop, path, stacks=True)
    return _of_class(trace, memory_devices(trace)[0], name).again_ns / 1e9


def _steps(plain: Loop, again: Loop) -> list[float]:
    """Seconds of CPU time of steps without checkpoints, then of as many with them, taken by turns."""
    pairs = [(plain.seconds(), again.seconds(), again.seconds(), plain.seconds()) for _ in range(PAIRS)]
    return [seconds for places in ((0, 3), (1, 2)) for pair in pairs for seconds in (pair[each] for each in places)]


#: The names that the settings use.
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": SGD,
    "SGD with momentum": MOMENTUM,
    "AdamW": lambda params: torch.optim.AdamW(params, lr=0.001),
}


def from_the_start(training: Training, path: Path, dtype: torch.dtype = torch.float32) -> Trace:
    """A few steps whose model is created during the recording: only then is all memory of the CPU counted."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as profiler:
        loop = Loop(training, training.batch, dtype=dtype)
        for _ in range(STEPS):
            loop.step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return alone(read_file(str(path)))


def compare_types(names: list[str], path: Path) -> None:
    """Predicted from FP32, measured with model and inputs in BF16."""
    found: list[float] = []
    larger = {f"{name}, larger": training for name, (training, _) in CHECKPOINTED.items()}
    for name, training in {**TRAININGS, **larger}.items():
        if names and name not in names:
            continue
        said = _predicted(record(Loop(training, training.batch), path), "All in BF16")
        half = record(Loop(training, training.batch, dtype=torch.bfloat16), path)
        _print_error(training, name, said, max(step_peaks(half, memory_devices(half)[0])[1:]), found)
    _print_sum(found)


def compare_lengths(names: list[str], path: Path) -> None:
    """For trainings that look up tokens."""
    found: list[float] = []
    for name in names or [name for name, training in TRAININGS.items() if isinstance(training.model(), Language)]:
        training = TRAININGS[name]
        trace = record(Loop(training, training.batch), path)
        length = training.data(1)[0].shape[1]
        for times in LENGTHS:
            other = training._replace(data=partial(_stretched, training.data, times))
            longer = record(Loop(other, training.batch), path)
            said = _predicted(trace, f"Sequences of {round(length * times)}")
            most = max(step_peaks(longer, memory_devices(longer)[0])[1:])
            _print_error(training, f"{name} x {times}", said, most, found)
    _print_sum(found)


def _stretched(data: Callable[[int], tuple[Tensor, Tensor]], times: float, batch: int) -> tuple[Tensor, Tensor]:
    """Rows of this multiple of their length."""
    inputs, targets = (each.repeat(1, 2)[:, : round(each.shape[1] * times)].clone() for each in data(batch))
    return inputs, targets


def _predicted(trace: Trace, label: str) -> int | None:
    known = {each.label: each.peak_bytes for each in settings(trace, memory_devices(trace)[0], None)}
    return known.get(label)


def _print_error(training: Training, name: str, said: int | None, measured: int, found: list[float]) -> None:
    if said is not None:
        found.append(abs(said / measured - 1))
    text = "not predicted" if said is None else f"{said / measured - 1:+7.2%}"
    print(f"{name:30} {measured_only(training):14} {measured / 1e6:7.2f} MB {text}", flush=True)


def _print_sum(found: list[float]) -> None:
    print(f"{sum(each <= GOAL for each in found)} of {len(found)} that are predicted within {GOAL:.0%}")


def compare_optimizers(names: list[str], path: Path) -> None:
    for name in names or TRAININGS:
        training = TRAININGS[name]
        traces = {label: from_the_start(training._replace(optimizer=make), path) for label, make in OPTIMIZERS.items()}
        peaks = {label: max(step_peaks(trace, memory_devices(trace)[0])[1:]) for label, trace in traces.items()}
        worst = max(
            (
                abs(setting.peak_bytes / peaks[setting.label] - 1)
                for trace in traces.values()
                for setting in settings(trace, memory_devices(trace)[0], None)
                if setting.label in peaks and setting.peak_bytes is not None
            ),
            default=1.0,
        )
        print(f"{name:24} {measured_only(training):14} worst of six {worst:7.2%}", flush=True)


def _of_class(trace: Trace, place: Place, name: str) -> Checkpoint:
    found = checkpoints(trace, place)
    assert isinstance(found, list)
    return next(each for each in found if each.module == name)


def main(arguments: list[str]) -> int:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.pt.trace.json"
        compare = COMPARED.get(arguments[0] if arguments else "", compare_batches)
        compare([name for name in arguments if name not in COMPARED], path)
    return 0


def compare_batches(names: list[str], path: Path) -> None:
    worst: dict[bool, list[float]] = {False: [], True: []}
    for name in names or TRAININGS:
        training = TRAININGS[name]
        found = errors(training, path)
        worst[training.measured_only].append(max(map(abs, found)) if found else 1.0)
        text = " ".join(f"{each:+7.2%}" for each in found) if found else "the batch is not known"
        print(f"{name:24} {measured_only(training):14} {text}", flush=True)
    for only, each in worst.items():
        right = sum(one <= GOAL for one in each)
        print(f"{'measured only' if only else 'made on'}: {right} of {len(each)} within {GOAL:.0%}")


def compare_checkpoints(names: list[str], path: Path) -> None:
    right = [0, 0]
    for name in names or CHECKPOINTED:
        training, module = CHECKPOINTED[name]
        found = checkpointed(training, module, path)
        said, saved = found.saved
        error, low, high = found.error()
        right[0] += abs(said / saved - 1) <= BYTES_GOAL
        right[1] += abs(error) <= TIME_GOAL
        print(
            f"{name:24} {measured_only(training):14} saved {saved / 1e6:6.2f} MB {said / saved - 1:+7.2%}   "
            f"longer {1e3 * found.took()[1]:6.2f} ms {error:+7.2%} ({low:+.0%} to {high:+.0%})",
            flush=True,
        )
    print(f"bytes: {right[0]} within {BYTES_GOAL:.0%}; time: {right[1]} within {TIME_GOAL:.0%}")
    few, many = own(1), own(16)
    print(f"a checkpoint itself: {1e6 * few:.0f} us of one op, {1e6 * (many - few) / 15:.0f} us of each op more")


def own(ops: int) -> float:
    """Seconds that a checkpoint of this many small ops takes in addition to them, with cold caches, as after larger
    ops.
    """
    plain, again = (nn.Sequential(*(nn.Tanh() for _ in range(ops))) for _ in range(2))
    again.forward = partial(checkpoint, again.forward, use_reentrant=False)
    (forward, _), (_, whole), (_, longer) = (
        np.median([_parts(model) for _ in range(60)], axis=0) for model in (plain, plain, again)
    )
    return float(longer - whole - forward)


def _parts(model: nn.Module) -> tuple[float, float]:
    """Seconds of the forward pass, and of both passes together."""
    others, x = torch.zeros(16_000_000), torch.randn(8, requires_grad=True)
    others.add_(1)
    first = time.process_time()
    said = model(x)
    forward = time.process_time() - first
    others.add_(1)
    second = time.process_time()
    said.sum().backward()
    return forward, forward + time.process_time() - second


def measured_only(training: Training) -> str:
    return "measured only" if training.measured_only else ""


#: The comparisons besides other batches.
COMPARED: dict[str, Callable[[list[str], Path], None]] = {
    "--checkpoint": compare_checkpoints,
    "--optimizer": compare_optimizers,
    "--type": compare_types,
    "--length": compare_lengths,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
