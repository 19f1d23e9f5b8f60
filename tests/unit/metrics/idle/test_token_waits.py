"""Waits that have to stay, for tokens and for gradients: the idle time after them is the time of the CPU."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.metrics.idle.bubbles import bubbles
from tb_steptime.metrics.idle.long_gaps import long_gaps
from tb_steptime.metrics.idle.token_waits import in_token_waits, token_waits
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind, StringTable
from tests.drawn.timeline import timeline

ATTENTION = "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128> >(Flash_fwd_params)"
CALLS = {"c": "cudaMemcpyAsync", "s": "cudaStreamSynchronize"}
#: Two waits a step. A kernel of 4 us runs before the first one, the copy of the second one comes after.
DRAWING = """
    step       | 000000000000000000001111111111111111111122222222 |
    runtime    | k.ssss.q.cssss......k.ssss.q.cssss......k....... |
    kernel 7   | .kkkk...qqqq........kkkk....qqqq........kkkk.... |
    memcpy 7   | ............c...................c............... |"""


def drawn(attention: str, direction: str = "DtoH (Device -> Pinned)", also: str = "") -> Trace:
    names = {"k": attention, "q": "gemv", "c": f"Memcpy {direction}"}
    return timeline(DRAWING + also, names=names, calls=CALLS)


def bubbles_us(trace: Trace) -> list[int]:
    """The idle time that each call costs."""
    return (bubbles(trace, 0).idle_ns // 1_000).tolist()


def test_the_last_wait_of_each_step_for_tokens_costs_nothing():
    trace = drawn(ATTENTION)
    assert token_waits(trace).tolist() == [False, True, False, True]
    late = drawn("other")
    assert token_waits(late).tolist() == [False] * 4
    assert bubbles_us(trace)[::2] == bubbles_us(late)[::2]
    assert bubbles_us(trace)[1::2] == [0, 0]
    assert all(us > 0 for us in bubbles_us(late))


@pytest.mark.parametrize(
    ("name", "decodes"),
    [
        ("step[DECODE bs=16]", True),
        ("execute_context_0(0)_generation_16(16)", True),
        ("execute_context_1(888)_generation_0(0)", False),
        ("execute_new_0_cached_16", True),
        ("execute_new_2_cached_16", False),
        ("execute_new_0_cached_0", False),
        ("decode the image", False),
    ],
)
def test_ranges_of_servers_show_decoding(name: str, decodes: bool):
    assert token_waits(drawn("other", also=f"\n    user {name} | k................... |")).any() == decodes


@pytest.mark.parametrize(
    ("name", "decodes"),
    [
        ("_fwd_grouped_kernel_stage1", True),
        ("_fwd_kernel_stage2", True),
        ("void mmha::masked_multihead_attention_kernel<unsigned short, 128>(Params)", True),
        ("_fwd_kernel", False),
    ],
)
def test_kernels_of_servers_show_decoding(name: str, decodes: bool):
    assert token_waits(drawn(name)).any() == decodes


def test_a_copy_to_the_device_hands_out_nothing():
    """The last wait for results is then the one before it."""
    trace = drawn(ATTENTION, "HtoD (Pageable -> Device)")
    assert token_waits(trace).tolist() == [True, False, True, False]


def test_training_can_read_its_results_later():
    trace = drawn(ATTENTION, also="\n    op            | .....................a............ |")
    assert token_waits(trace).any()
    strings = [*trace.strings.strings]
    strings[strings.index("a")] = "autograd::engine::evaluate_function: MmBackward0"
    assert not token_waits(replace(trace, strings=StringTable(strings), memo={})).any()


def test_calls_of_such_a_wait_are_known_by_when_they_begin():
    trace = drawn(ATTENTION)
    calls = trace.events.rows(Kind.RUNTIME)
    begun = trace.events.start_ns[calls] // 1_000
    assert begun[in_token_waits(trace, calls)].tolist() == [9, 10, 29, 30]
    assert in_token_waits(drawn("other"), calls).tolist() == [False] * len(calls)


@pytest.mark.parametrize(("at", "name"), [(0, None), (5, "other_range")])
def test_the_range_that_marks_the_steps_says_nothing_of_a_gap(at: int, name: str | None):
    """Without other marks, the ranges show where steps begin. at: where another range begins within each."""
    steps = 5
    runtime, kernels = "abababab" + "." * 14, ".abababab" + "." * 13
    within = ("." * at + "x" * (20 - at) + "..") if name else "." * 22
    trace = timeline(
        f"""
        user decode_step   | {("r" * 21 + ".") * steps} |
        user other_range   | {within * steps} |
        runtime            | {runtime * steps} |
        kernel 7           | {kernels * steps} |""",
        cell_ns=100_000,
    )
    gaps = [gap for row in long_gaps(trace, 0) for gap in row.longest]
    assert [gap.name for gap in gaps] == [name] * (steps - 1)


def updating(optimizer: str, launched: str = ".", cell_ns: int = 100_000) -> Trace:
    """Three steps: a kernel, a wait for the copy of its gradients to the host, and 11 cells of the optimizer."""
    steps = 3
    return timeline(
        f"""
        step                          | {"".join(str(step) * 20 for step in range(steps))} |
        user {optimizer} | {".......ooooooooooo.." * steps} |
        runtime                       | {f"k.csss.....{launched}........" * steps} |
        kernel 7                      | {f".kkk.......{launched}........" * steps} |
        memcpy 7                      | {"....cc.............." * steps} |""",
        names={"k": "gemm", "q": "update", "c": "Memcpy DtoH (Device -> Pinned)"},
        calls=CALLS,
        cell_ns=cell_ns,
    )


@pytest.mark.parametrize(
    ("optimizer", "launched", "cell_ns", "stays"),
    [
        ("Optimizer.step#CPUAdam.step", ".", 100_000, True),
        ("Optimizer.step#CPUAdam.step", "q", 100_000, False),
        ("Optimizer.step#CPUAdam.step", ".", 1_000_000 // 11, False),
        ("write_checkpoint", ".", 100_000, False),
    ],
    ids=["on the CPU", "a kernel updates", "short", "another range"],
)
def test_an_optimizer_on_the_cpu_needs_its_gradients(optimizer: str, launched: str, cell_ns: int, stays: bool):
    trace = updating(optimizer, launched, cell_ns)
    assert token_waits(trace).tolist() == [stays] * 3
    launches_follow = [True, True, launched != "."]
    assert [us > 0 for us in bubbles_us(trace)] == [follows and not stays for follows in launches_follow]
