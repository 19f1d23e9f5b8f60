"""Cards about memory: what they fire on, and which healthy jobs they leave alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.insights.base import Severity
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Trace
from tests.drawn.cards import card_sentence, judged, sure
from tests.drawn.memory import CPU, with_memory
from tests.drawn.timeline import A100, timeline

CARDS = {"memory_grows", "spilled", "peak_of_activations", "gradients_kept", "fragmented", "larger_batch"}
NODE = "autograd::engine::evaluate_function: AddmmBackward0"
MB = 1_000_000
FULL = replace(A100, memory_bytes=1000 * MB)


def training(
    steps: int = 6,
    driver: str = "..........",
    kernels: str = "..k.......",
    inputs: dict[str, tuple[str, ...]] | None = None,
) -> Trace:
    """Steps of 10 us: the forward pass begins at 1, the backward pass at 4, the optimizer at 7. driver: calls of the
    allocator in each step except the first."""
    lines = {
        "step": "".join(str(step) * 10 for step in range(steps)),
        "op": ".ff.nn...." * steps,
        "runtime": ".k........" * steps,
        "kernel 7": kernels * steps,
        "user Optimizer.step#Adam.step": ".......oo." * steps,
        "driver": ".........." + driver * (steps - 1),
    }
    drawing = "\n".join(f"{label} | {cells} |" for label, cells in lines.items())
    names = {"f": "aten::linear", "n": NODE}
    stacks = {"f": "net.py(7): forward;train.py(9): step"}
    return timeline(drawing, names=names, stacks=stacks, calls={"m": "cuMemCreate"}, devices={0: FULL}, inputs=inputs)


def every_step(*what: str, steps: int = 6) -> str:
    """Memory events repeated in every step, numbered by step. "@+3.5" is an instant within the step."""
    found = []
    for step in range(steps):
        for each in what:
            name, size, at = each.split()
            found.append(f"{name}{step} {size} @{10 * step + float(at[2:])}")
    return ", ".join(found)


def fired(trace: Trace) -> set[str]:
    return {insight.id for insight in judged(trace).insights} & CARDS


def test_growth_names_its_maker_and_the_headline_says_what_to_do():
    trace = with_memory(training(), every_step("kept +2000000 @+1.5"), before=100 * MB)
    grows, below = sure(trace, "memory_grows"), judged(trace).headlines["memory"].action
    assert below is not None and plain(below) == "Free what every step leaves allocated: less memory."
    assert (
        card_sentence(grows)
        == "Each of 5 steps leaves 2.0 MB on NVIDIA A100-SXM4-80GB, made by aten::linear in net.py:7 forward."
    )
    assert (grows.severity, grows.gain_ns, grows.view) == (Severity.WARNING, 0, "memory")
    assert grows.row is not None and grows.row.key == "aten::linear"
    assert grows.instead is not None and grows.instead.template == "less memory"


def test_the_cpu_has_no_proper_name():
    trace = with_memory(training(), every_step("kept +2000000 @+1.5"), before=100 * MB, device=CPU)
    assert card_sentence(sure(trace, "memory_grows")).startswith("Each of 5 steps leaves 2.0 MB on the CPU, made by")


def test_memory_that_is_kept_for_no_known_use_is_told_by_what_made_it():
    titles = judged(with_memory(training(), every_step("kept +2000000 @+1.5"))).titles["memory"]
    assert plain(titles["memory_parts.0"]) == "83 % of the peak is unclassified: aten::linear made it"


def test_growth_of_several_places_names_the_first():
    memory = every_step("kept +2000000 @+1.5", "more +1000000 @+4.5", "v +500000 @+5", "v -500000 @+8")
    grows = sure(with_memory(training(), memory), "memory_grows")
    assert card_sentence(grows) == (
        "Each of 5 steps leaves 3.0 MB on NVIDIA A100-SXM4-80GB, made mostly by aten::linear in net.py:7 forward."
    )


def test_growth_that_many_places_make_by_turns_has_no_cause():
    """Successive steps leave memory in different phases, so that no single place leaves some in every step."""
    places = ("1.5", "4.5", "7.5", "1.5", "4.5", "7.5")
    memory = ", ".join(f"x{step} +2000000 @{10 * step + float(at)}" for step, at in enumerate(places))
    assert fired(with_memory(training(), memory, before=100 * MB)) == set()


@pytest.mark.parametrize(
    "memory",
    [
        every_step("x +2000000 @+1.5", "x -2000000 @+5"),  # freed in each step
        every_step("loss +512 @+1.5"),  # a list of losses
        every_step("x +2000000 @+1.5", steps=1),  # made once
        every_step("x +2000000 @+1.5", steps=3),  # a cache that fills up, then stays
        ", ".join(f"x{step} +2000000 @{10 * step + 1.5}" for step in (0, 2, 4)),  # in every other step
    ],
)
def test_no_growth_without_a_place_that_leaves_memory_in_every_step(memory: str):
    assert fired(with_memory(training(), memory, before=100 * MB)) == set()


def test_inference_may_fill_its_cache():
    names = {"f": "aten::linear"}
    lines = (f"step | {'0' * 9}{'1' * 9}{'2' * 9}{'3' * 9}{'4' * 9}{'5' * 9} |", f"op | {'.ff......' * 6} |")
    trace = timeline("\n".join(lines), names=names)
    memory = ", ".join(f"x{step} +2000000 @{9 * step + 1.5}" for step in range(6))
    assert fired(with_memory(trace, memory)) == set()


ACTIVATIONS = every_step("act +700000000 @+1.5", "act -700000000 @+5")


def test_a_full_gpu_with_activations_is_told_to_checkpoint():
    trace = with_memory(training(), ACTIVATIONS, before=100 * MB, reserved=900 * MB)
    assert fired(trace) == {"peak_of_activations"}
    assert card_sentence(sure(trace, "peak_of_activations")) == (
        "88 % of NVIDIA A100-SXM4-80GB's peak is activations: 700 MB, which checkpointing saves at most."
    )


@pytest.mark.parametrize(
    ("reserved", "before", "severity"),
    [
        (1001 * MB, 100 * MB, Severity.MINOR),  # the rest may only be cached
        (1700 * MB, 900 * MB, Severity.WARNING),  # 1,600 MB are in use
        (1000 * MB, 100 * MB, None),  # just full
    ],
)
def test_more_memory_than_the_gpu_has_is_in_the_systems_memory(reserved: int, before: int, severity: Severity | None):
    trace = with_memory(training(), ACTIVATIONS, before=before, reserved=reserved)
    found = [insight for insight in judged(trace).insights if insight.id == "spilled"]
    assert [(insight.severity, insight.gain_ns) for insight in found] == ([(severity, 0)] if severity else [])


def test_spilled_memory_is_what_the_gpu_lacks():
    trace = with_memory(training(), ACTIVATIONS, before=900 * MB, reserved=1700 * MB)
    assert card_sentence(sure(trace, "spilled")) == (
        "1 700 MB are reserved on NVIDIA A100-SXM4-80GB, which has 1 000 MB: 700 MB are in the system's memory, which "
        "kernels reach far more slowly."
    )


def test_a_processor_with_a_gpu_reserves_from_the_systems_memory():
    shared = replace(FULL, name="AMD Radeon 8060S Graphics")
    trace = with_memory(replace(training(), devices={0: shared}), ACTIVATIONS, before=900 * MB, reserved=1700 * MB)
    assert "spilled" not in fired(trace)


def test_a_gpu_with_room_needs_no_checkpoints():
    assert fired(with_memory(training(), ACTIVATIONS, before=100 * MB, reserved=799 * MB)) == set()


def test_gradients_that_are_zeroed_in_place():
    """Gradients are made by the first backward pass and never freed; the peak is in a later forward pass."""
    memory = "grad +300000000 @5.5, " + every_step("act +100000000 @+1.5", "act -100000000 @+5")
    trace = with_memory(training(), memory, before=400 * MB, reserved=900 * MB)
    assert fired(trace) == {"gradients_kept"}
    assert " 300 MB of an earlier step's gradients are allocated." in card_sentence(sure(trace, "gradients_kept"))


def test_gradients_that_are_set_to_none_are_no_card():
    memory = every_step("grad +300000000 @+5.5", "grad -300000000 @+9", "act +1000000 @+1.5", "act -1000000 @+5")
    assert fired(with_memory(training(), memory, before=400 * MB, reserved=900 * MB)) == set()


def test_a_cache_that_does_not_fit_is_fragmented():
    trace = with_memory(
        training(driver="m........."), every_step("x +1000 @+1.5", "x -1000 @+2"), before=500 * MB, reserved=900 * MB
    )
    assert fired(trace) == {"fragmented"}
    assert card_sentence(sure(trace, "fragmented")).startswith("400 MB of NVIDIA A100-SXM4-80GB are cached and unused")


def test_a_cache_that_no_step_adds_to_is_not_fragmented():
    memory = every_step("x +1000 @+1.5", "x -1000 @+2")
    assert fired(with_memory(training(), memory, before=500 * MB, reserved=900 * MB)) == set()


BATCH = every_step("act +90000000 @+1.5", "act -90000000 @+5")
IMAGES = {"f": ("[[30,3,64,64],[8,3,3,3]]", '["float","float"]')}


def test_a_gpu_that_waits_for_launches_and_has_room_may_take_more_samples():
    """90 MB of 190 MB are activations. A limit of 900 MB is assumed, and 300 MB are reserved, so 600 MB are free."""
    trace = with_memory(training(inputs=IMAGES), BATCH, before=100 * MB, reserved=300 * MB)
    assert fired(trace) == {"larger_batch"}
    assert card_sentence(sure(trace, "larger_batch")) == (
        "30 samples take 90.0 MB of NVIDIA A100-SXM4-80GB, 3.0 MB each, and 600 MB are free: 7 times as many fit."
    )
    assert sure(trace, "larger_batch").gain_ns == 0


def test_without_shapes_the_batch_is_whatever_it_is():
    trace = with_memory(training(), BATCH, before=100 * MB, reserved=300 * MB)
    assert card_sentence(sure(trace, "larger_batch")) == (
        "A batch takes 90.0 MB of NVIDIA A100-SXM4-80GB, and 600 MB are free: about 7 times as large fits."
    )


@pytest.mark.parametrize(
    ("memory", "reserved"),
    [
        (BATCH, 820),  # room for less than twice the batch
        (every_step("act +9000000 @+1.5", "act -9000000 @+5"), 300),  # hardly any of the peak depends on the batch
        (every_step("x +90000000 @+7.2", "x -90000000 @+8"), 300),  # the optimizer's own memory
        (
            BATCH.replace("act5 +90000000", "act5 +60000000").replace("act5 -90000000", "act5 -60000000"),
            300,
        ),  # sizes differ between steps
        ("kept +90000000 @11.5, " + BATCH, 300),  # memory of unknown purpose
    ],
)
def test_no_larger_batch_where_room_or_what_takes_it_is_not_sure(memory: str, reserved: int):
    assert "larger_batch" not in fired(with_memory(training(), memory, before=100 * MB, reserved=reserved * MB))


def test_no_larger_batch_for_a_gpu_that_is_busy_or_whose_memory_is_not_recorded():
    busy = training(kernels=".kkkkkkkkk")
    assert "larger_batch" not in fired(with_memory(busy, BATCH, before=100 * MB, reserved=300 * MB))
    assert "larger_batch" not in fired(training())


def test_the_only_gpu_needs_no_name_in_its_headline():
    verdict = judged(with_memory(training(), "x +8 @1.5")).headlines["memory"].verdict
    assert plain(verdict) == "On the GPU, at most 8 B is allocated, in step 0 (forward)."


def test_memory_of_the_cpu_is_no_headline_where_a_gpu_works():
    alone = with_memory(training(kernels=".........."), "x +8 @1.5", device=CPU)
    beside = with_memory(training(), "x +8 @1.5", device=CPU)
    assert [plain(judged(trace).headlines["memory"].verdict) for trace in (alone, beside)] == [
        "On the CPU, at most 8 B is allocated, in step 0 (forward).",
        "Allocations on the GPU were not recorded; on the CPU, 8 B at most.",
    ]
