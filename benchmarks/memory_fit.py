"""How well one recording predicts the memory at other batches: `python -m benchmarks.memory_fit [NAME ...]`.

Each model is trained for a few steps on the CPU at one batch and recorded with profile_memory=True and
record_shapes=True; then at five other batches. Printed is the predicted peak over the measured one, which the allocator
events of the other recordings tell. The rules were made on half of the models; the others are measured only.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from tb_steptime.ingest.measure import read_file
from tb_steptime.metrics.memory.allocations import allocations
from tb_steptime.metrics.memory.devices import memory_devices
from tb_steptime.metrics.memory.fit.fit import MemoryFit, memory_fit
from tb_steptime.metrics.memory.fit.lines import peak_at
from tb_steptime.metrics.memory.peak import step_peaks
from tb_steptime.trace.model import Trace

#: Of the recorded batch.
FACTORS = (0.5, 1.5, 2, 3, 4)
GOAL = 0.05
STEPS = 3


class Training(NamedTuple):
    """model: maker; batch: the recorded one; data: (inputs, targets) of a batch; measured_only: the rules were made
    without it."""

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
    """The last output of a recurrent net, classified."""

    def __init__(self, net: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.net, self.head = net, nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.net(x)[0][:, -1])


class Language(nn.Module):
    """Tokens to tokens through layers of width; a causal mask where asked for."""

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
    """Written out: scores are kept."""

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


def record(training: Training, batch: int, path: Path) -> Trace:
    """A few steps at this batch, after one that is not recorded."""
    torch.manual_seed(0)
    model = training.model()
    optimizer = training.optimizer(model.parameters())

    def step() -> None:
        inputs, targets = training.data(batch)
        optimizer.zero_grad()
        said = model(inputs)
        functional.cross_entropy(said.flatten(0, -2), targets.flatten()).backward()
        optimizer.step()

    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as profiler:
        for _ in range(STEPS):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return alone(read_file(str(path)))


def alone(trace: Trace) -> Trace:
    """With totals of what this recording allocates: the allocator's own go on counting over all of a process."""
    found = allocations(trace)
    kept = np.zeros(len(trace.memory), bool)
    kept[found.born] = True
    kept[found.died[found.died >= 0]] = True
    table = trace.memory.where(kept)
    return replace(trace, memory=replace(table, allocated=np.cumsum(table.bytes)), memo={})


def errors(training: Training, path: Path) -> list[float] | None:
    """Predicted over measured less 1 at each factor; None where nothing is predicted."""
    trace = record(training, training.batch, path)
    (place,) = memory_devices(trace)
    fit = memory_fit(trace, place)
    if not isinstance(fit, MemoryFit) or fit.batch != training.batch:
        return None
    batches = [round(training.batch * factor) for factor in FACTORS]
    measured = [max(step_peaks(record(training, batch, path), place)[1:]) for batch in batches]
    return [peak_at(fit.lines, batch) / most - 1 for batch, most in zip(batches, measured, strict=True)]


def main(names: list[str]) -> int:
    torch.set_num_threads(1)
    worst: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or TRAININGS:
            training = TRAININGS[name]
            found = errors(training, Path(folder) / "recorded.pt.trace.json")
            worst[training.measured_only].append(max(map(abs, found)) if found else 1.0)
            text = " ".join(f"{each:+7.2%}" for each in found) if found else "the batch is not known"
            print(f"{name:24} {'measured only' if training.measured_only else '':14} {text}", flush=True)
    for measured_only, each in worst.items():
        right = sum(one <= GOAL for one in each)
        print(f"{'measured only' if measured_only else 'made on'}: {right} of {len(each)} within {GOAL:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
