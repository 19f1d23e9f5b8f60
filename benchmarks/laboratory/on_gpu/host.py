"""Programs in which the GPU waits for the host."""

from __future__ import annotations

import gc
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn

from benchmarks.laboratory.on_gpu.parts import Learner, half, mlp, table
from benchmarks.laboratory.on_gpu.program import gpu_program
from benchmarks.laboratory.program import Run
from benchmarks.laboratory.programs.computing import Unrolled


def _graphed(step: Callable[[], object]) -> Callable[[], object]:
    """A step that is captured once and then replayed."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay() -> None:
        assert step  # keeps the objects of the step alive, because the graph reads their memory
        graph.replay()

    return replay


def _small() -> tuple[Learner, torch.Tensor, torch.Tensor]:
    return Learner(mlp(256, 30)), *table(64)


def _steps(step: Callable[[], object]) -> Iterator[None]:
    while True:
        step()
        yield


@gpu_program("many small layers", {"launch_graphs": ("graphs",)})
def small_layers(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(256, 30), table(64)
    learner = Learner(model, torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True, capturable=True))
    step: Callable[[], object] = lambda: learner.step(inputs, targets)  # noqa: E731
    return _steps(_graphed(step) if run.change else step)


@gpu_program("transformer with small batches", {"launch_graphs": ("graphs",)}, shapes=True)
def small_transformer(run: Run) -> Iterator[None]:
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 6), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True, capturable=True)
    inputs, targets = torch.randn(4, 64, 256, device="cuda"), torch.randint(0, 10, (4 * 64,), device="cuda")

    def step() -> None:
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return _steps(_graphed(step) if run.change else step)


class Decoder(nn.Module):
    """Decodes one token. The keys and values of the earlier tokens are in a cache of fixed size."""

    def __init__(self, width: int = 512, heads: int = 8, depth: int = 8, length: int = 256, rows: int = 8) -> None:
        super().__init__()
        self.words, self.heads, self.length = nn.Embedding(8000, width), heads, length
        self.mixed = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.outer = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(depth)
        )
        self.head = nn.Linear(width, 8000)
        self.register_buffer("cache", torch.zeros(depth, 2, rows, heads, length, width // heads))

    def forward(self, tokens: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        hidden = self.words(tokens)
        seen = torch.arange(self.length, device=tokens.device)[None, None, None] <= place
        for number, (mixed, outer) in enumerate(zip(self.mixed, self.outer, strict=True)):
            query, key, value = (each.unflatten(-1, (self.heads, 1, -1)) for each in mixed(hidden).chunk(3, -1))
            keys, values = self.cache[number]
            keys.index_copy_(2, place, key)
            values.index_copy_(2, place, value)
            out = nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=seen)
            hidden = hidden + outer(hidden + out.flatten(1))
        return self.head(hidden).argmax(-1)


@gpu_program("decoding token by token", {"launch_graphs": ("graphs",)}, shapes=True)
def decoding(run: Run) -> Iterator[None]:
    model = Decoder().cuda().eval().bfloat16()
    tokens, place = torch.zeros(8, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")

    def step() -> None:
        with torch.no_grad():
            tokens.copy_(model(tokens, place))
            place.add_(1).remainder_(256)

    return _steps(_graphed(step) if run.change else step)


@gpu_program("decoding until all rows have ended", {"sync_bubble": ("seldom",), "launch_graphs": ()}, shapes=True)
def decoding_ends(run: Run) -> Iterator[None]:
    """After each token, the loop checks whether all rows have ended."""
    model = Decoder(depth=4).cuda().eval().bfloat16()
    tokens, place = torch.zeros(8, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    ended = torch.zeros(8, dtype=torch.bool, device="cuda")
    with torch.no_grad():
        for number in itertools.count():
            for token in range(8):
                tokens.copy_(model(tokens, place))
                place.add_(1).remainder_(256)
                ended |= tokens == -1
                if (not run.change or token == 7) and ended.all():
                    raise AssertionError(number)
            yield


@gpu_program("recurrent network, step by step", {"launch_graphs": ("cudnn",)})
def unrolled(run: Run) -> Iterator[None]:
    learner = Learner(Unrolled(bool(run.change), 128, 256))
    inputs, targets = torch.randn(64, 32, 128, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    return _steps(lambda: learner.step(inputs, targets))


@gpu_program("Adam, parameter by parameter", {"tiny_optimizer_kernels": ("fused", "foreach")})
def adam(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(512, 60), table(64)
    ways = {"fused": {"fused": True}, "foreach": {"foreach": True}}
    learner = Learner(model, torch.optim.AdamW(model.parameters(), lr=1e-5, **ways.get(run.change, {"foreach": False})))
    return _steps(lambda: learner.step(inputs, targets))


@gpu_program("Adam with foreach, long kernels", {"fused_optimizer": ("fused",), "launch_graphs": ()}, shapes=True)
def foreach(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(4096, 12, 4096), table(256, 4096)
    options = {"fused": True} if run.change else {"foreach": True}
    learner = Learner(model, torch.optim.AdamW(model.parameters(), lr=1e-5, **options))

    def step() -> None:
        with half():
            learner.step(inputs, targets)

    return _steps(step)


@gpu_program("average of weights, one by one", {"between_passes": ("foreach",), "launch_graphs": ()})
def averaged(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(256, 30), table(64)
    learner = Learner(model)
    theirs = list(model.parameters())
    ours = [weight.detach().clone() for weight in theirs]
    while True:
        learner.step(inputs, targets)
        with torch.no_grad():
            if run.change:
                torch._foreach_lerp_(ours, theirs, 0.01)
            else:
                for mean, weight in zip(ours, theirs, strict=True):
                    mean.mul_(0.99).add_(weight, alpha=0.01)
        yield


@gpu_program("norm of each gradient read", {"sync_bubble": ("together",), "launch_graphs": ()})
def norms(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(256, 30), table(64)
    learner = Learner(model)
    while True:
        learner.step(inputs, targets)
        gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
        if run.change:
            torch.nn.utils.get_total_norm(gradients).item()
        else:
            sum(gradient.norm().item() ** 2 for gradient in gradients)
        yield


@gpu_program("loss read after each small step", {"sync_bubble": ("seldom",), "launch_graphs": ()})
def loss_read(run: Run) -> Iterator[None]:
    learner, inputs, targets = _small()
    for number in itertools.count():
        _, loss = learner.step(inputs, targets)
        if not run.change or number % 50 == 49:
            loss.item()
        yield


@gpu_program("activations checked for NaN", {"sync_bubble": ("once",), "launch_graphs": ()}, stacks=True)
def checked(run: Run) -> Iterator[None]:
    layers = nn.ModuleList(nn.Linear(2048, 2048) for _ in range(12)).cuda()
    optimizer = torch.optim.SGD(layers.parameters(), lr=1e-5)
    inputs = torch.randn(2048, 2048, device="cuda")
    while True:
        with half():
            hidden = inputs
            for layer in layers:
                hidden = layer(hidden).relu()
                if not run.change and torch.isnan(hidden).any():
                    raise AssertionError
        loss = hidden.float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield


@gpu_program("rows chosen by a mask", {"sync_bubble": ("where",), "launch_graphs": ()}, shapes=True)
def masked(run: Run) -> Iterator[None]:
    learner, inputs, targets = _small()
    while True:
        for _ in range(6):
            kept = inputs[:, 0] > -1
            if run.change:
                torch.where(kept[:, None], inputs, 0.0).sum()
            else:
                inputs[kept].sum()
        learner.step(inputs, targets)
        yield


@gpu_program(
    "small tensors made on the host", {"pageable_copies": ("kept",), "sync_bubble": ("kept",), "launch_graphs": ()}
)
def scalars(run: Run) -> Iterator[None]:
    learner, inputs, targets = _small()
    means = torch.tensor([0.485] * 256, device="cuda")
    while True:
        for _ in range(8):
            mean = means if run.change else torch.tensor([0.485] * 256, device="cuda")
            inputs.add_(mean).sub_(mean)
        learner.step(inputs, targets)
        yield


@gpu_program("waits for the device in each step", {"sync_bubble": ("none",), "launch_graphs": ()})
def synchronized(run: Run) -> Iterator[None]:
    learner, inputs, targets = _small()
    while True:
        learner.model(inputs)
        if not run.change:
            torch.cuda.synchronize()
        learner.step(inputs, targets)
        if not run.change:
            torch.cuda.synchronize()
        yield


@gpu_program("large batches copied from pageable memory", {"pageable_batch_copies": ("pinned",)}, shapes=True)
def pageable(run: Run) -> Iterator[None]:
    learner, (_, targets) = Learner(mlp(4096, 4, 4096)), table(8192, 4096)
    batch = torch.randn(8192, 4096)
    batch = batch.pin_memory() if run.change else batch
    while True:
        with half():
            learner.step(batch.to("cuda", non_blocking=bool(run.change)), targets)
        yield


@gpu_program("memory emptied in each step", {"allocator_steady": ("kept",), "launch_graphs": ()})
def emptied(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(2048, 8, 2048)), table(2048, 2048)
    while True:
        with half():
            learner.step(inputs, targets)
        if not run.change:
            torch.cuda.empty_cache()
        yield


@gpu_program("metrics in Python", {"long_stretches": ("device",), "python_loop": ("device",)}, stacks=True)
def metrics(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 4)), table(4096)
    right = torch.zeros((), device="cuda")
    while True:
        outputs, _ = learner.step(inputs, targets)
        if run.change:
            right += (outputs.argmax(1) == targets).sum()
        else:
            count_right(outputs.argmax(1).tolist(), targets.tolist())
        yield


def count_right(guesses: list[int], targets: list[int]) -> int:
    return sum(int(guess == target) for guess, target in zip(guesses, targets, strict=True))


@gpu_program("augmentation on the host", {"long_stretches": ("device",), "launch_graphs": ()}, shapes=True)
def augmented(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 4)), table(4096)
    held = inputs if run.change else inputs.cpu()
    while True:
        batch = held
        for _ in range(3):
            batch = (batch.roll(1, 1) * 1.01 + 0.1).clamp(-3, 3)
        learner.step(batch.cuda(), targets)
        yield


@gpu_program("garbage collected in each step", {"garbage_collection": ("seldom",)}, stacks=True)
def collected(run: Run) -> Iterator[None]:
    learner, inputs, targets = _small()
    for number in itertools.count():
        learner.step(inputs, targets)
        if not run.change or number % 100 == 99:
            gc.collect()
        yield


@gpu_program("pause in each step", {"long_stretches": ("none",), "launch_graphs": ()})
def paused(run: Run) -> Iterator[None]:
    """Pauses like a logger that writes to a slow service."""
    learner, inputs, targets = _small()
    while True:
        learner.step(inputs, targets)
        if not run.change:
            time.sleep(0.003)
        yield


@gpu_program("autograd's anomaly detection", {"anomaly_detection": ("off",)})
def anomaly(run: Run) -> Iterator[None]:
    learner, inputs, targets = _small()
    while True:
        with torch.autograd.set_detect_anomaly(not run.change):
            learner.step(inputs, targets)
        yield


@gpu_program("scaler of FP16", {"sync_bubble": ("bf16",), "grad_scaler": ("bf16",), "launch_graphs": ()}, shapes=True)
def scaled(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(512, 20), table(256)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=False, foreach=True)
    scaler = torch.amp.GradScaler("cuda", enabled=not run.change)
    while True:
        with torch.autocast("cuda", torch.bfloat16 if run.change else torch.float16):
            loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        yield


@gpu_program("weights saved in each fifth step", {"host_stops": ("seldom",), "recurring_steps": ("seldom",)}, active=10)
def saved(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 8)), table(512)
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count():
            learner.step(inputs, targets)
            if number % (100 if run.change else 5) == 4:
                torch.save(learner.model.state_dict(), Path(folder) / "weights.pt")
            yield


@gpu_program(
    "evaluation in each fifth step",
    {"recurring_steps": ("seldom",), "slow_steps": ("seldom",), "launch_graphs": ()},
    active=10,
)
def evaluated(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 4)), table(1024)
    for number in itertools.count():
        learner.step(inputs, targets)
        if number % (100 if run.change else 5) == 4:
            with torch.no_grad():
                for _ in range(10):
                    (learner.model(inputs).argmax(1) == targets).float().mean().item()
        yield


@gpu_program(
    "graphs of losses that are kept", {"memory_grows": ("numbers",), "launch_graphs": ()}, memory=True, shapes=True
)
def kept(run: Run) -> Iterator[None]:
    learner, (inputs, targets) = Learner(mlp(1024, 4)), table(2048)
    losses = []
    while True:
        _, _ = learner.step(inputs, targets)
        held_out = nn.functional.cross_entropy(learner.model(inputs), targets)
        losses.append(held_out.detach() if run.change else held_out)
        if len(losses) > 400:
            losses.clear()
        yield


@gpu_program("small products in a graph", {"small_grids": ()})
def small_graph(run: Run) -> Iterator[None]:
    model, (inputs, targets) = mlp(1024, 20, 1024), table(512, 1024)
    learner = Learner(model, torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True, capturable=True))
    torch.backends.cuda.matmul.allow_tf32 = True
    return _steps(_graphed(lambda: learner.step(inputs, targets)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers, self.head = nn.LSTM(512, 1024, 3, batch_first=True), nn.Linear(1024, 10)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(inputs)[0][:, -1])


@gpu_program("recurrent network of cuDNN", {"launch_graphs": ()}, shapes=True)
def recurrent(run: Run) -> Iterator[None]:
    inputs, targets = torch.randn(256, 64, 512, device="cuda"), torch.randint(0, 10, (256,), device="cuda")
    learner = Learner(Recurrent())

    def step() -> None:
        with half():
            learner.step(inputs, targets)

    return _steps(step)
