"""The tables of memory: the largest allocations, and the heads of the others."""

from __future__ import annotations

from tb_steptime.metrics.memory.by_op import ChurnRow, OpMemory
from tb_steptime.metrics.memory.contents import AllocationRow
from tb_steptime.metrics.memory.fit.predictions import BatchFit, FitSetting, ModuleBytes
from tb_steptime.metrics.memory.growth import Maker
from tb_steptime.tables.base import Column, Surface, Table, head
from tb_steptime.text import Unit

_TAB, _AGENT = Surface.TAB, Surface.AGENT
_PRINTED = Surface.TAB | Surface.TEXT

ALLOCATIONS: Table[AllocationRow] = Table(
    "allocations",
    "What is alive at an instant, the largest first.",
    AllocationRow,
    (
        Column(
            "bytes", "Size", Unit.BYTES,
            "Bytes of one allocation.", on=_TAB | _AGENT, names={_AGENT: "mb"}, figure="memory_size",
        ),
        Column(
            "category", "Kind", Unit.TEXT,
            "What it is, by the phase that makes it and by what it outlives.", on=_TAB | _AGENT, figure="memory_kind",
        ),
        Column(
            "op", "Made in", Unit.TEXT,
            "The innermost op that was open, and the outermost around it.", on=_TAB | _AGENT, figure="memory_op",
        ),
        Column("module", "Module", Unit.TEXT, "The module that made it.", on=_AGENT),
        Column(
            "line", "Code", Unit.TEXT,
            "The module and the source line that made it; of the backward pass those of the forward op that it "
            "belongs to. Call stacks tell: with_stack=True.", on=_TAB | _AGENT, figure="memory_line",
        ),
        head("step", "Made", Unit.TEXT, "The step and the phase that made it.", "memory_born"),
        head(
            "lives_steps", "Lives", Unit.TEXT,
            "In how many steps after its own it is freed; a dash where the recording ends before, or it is of no "
            "step.", "memory_lives",
        ),
    ),
)  # fmt: skip

GROWTH: Table[Maker] = Table(
    "growing memory",
    "What makes memory in each step that nothing frees.",
    Maker,
    (
        head(
            "bytes_per_step", "Bytes a step", Unit.BYTES,
            "What of each step's allocations nothing frees; a mean.", "memory_growth",
        ),
        head(
            "since", "Since step", Unit.TEXT,
            "The first of the steps, in a row up to the last, that leave it.", "memory_since",
        ),
    ),
)  # fmt: skip

CHURN: Table[ChurnRow] = Table(
    "churn",
    "Ops whose allocations the same step frees again, per step.",
    ChurnRow,
    (
        head("count", "Allocations", Unit.NUMBER, "Allocations that the same step frees again.", "memory_churn_count"),
        head("bytes", "Bytes", Unit.BYTES, "Sum of these allocations.", "memory_churn_bytes"),
        head("largest_bytes", "Largest", Unit.BYTES, "The largest of these allocations.", "memory_churn_largest"),
    ),
)  # fmt: skip

OPS: Table[OpMemory] = Table(
    "memory by op",
    "Ops that allocate most.",
    OpMemory,
    (
        head(
            "allocated_bytes", "Allocated", Unit.BYTES,
            "Allocated by the op itself, without the ops inside it.", "memory_op_own",
        ),
        head(
            "all_allocated_bytes", "With children", Unit.BYTES,
            "Allocated by the op and the ops inside it.", "memory_op_all",
        ),
        head(
            "all_increase_bytes", "Increase", Unit.BYTES,
            "Allocated less freed while the op ran, the ops inside too.", "memory_op_increase",
        ),
    ),
)  # fmt: skip

FITS: Table[BatchFit] = Table(
    "memory at other batches",
    "The peak that other batches would have.",
    BatchFit,
    (
        head("batch", "Batch", Unit.NUMBER, "Samples of a step.", "memory_fit_batch"),
        head(
            "peak_bytes", "Peak, est.", Unit.BYTES,
            "Of the recorded batch it is measured; of another one est., by what grows with the batch.",
            "memory_fit_peak", on=_PRINTED,
        ),
        head("low_bytes", "Low", Unit.BYTES, "The estimate less its margin.", "memory_fit_low", on=_PRINTED),
        head(
            "high_bytes", "High", Unit.BYTES,
            "The estimate and its margin: workspaces and fragmentation depend on more than the batch.",
            "memory_fit_high", on=_PRINTED,
        ),
    ),
)  # fmt: skip

MODULES: Table[ModuleBytes] = Table(
    "memory at the peak by module",
    "What fills the peak, by the module that made it.",
    ModuleBytes,
    (
        head("bytes", "Bytes", Unit.BYTES, "Of the peak at the recorded batch.", "memory_fit_bytes", on=_PRINTED),
        head("constant", "Constant", Unit.BYTES, "What of it keeps its size at any batch.", "memory_fit_constant",
             on=_PRINTED),
        head("per_sample", "Per sample", Unit.BYTES, "What each sample of the batch adds.", "memory_fit_per_sample",
             on=_PRINTED),
    ),
)  # fmt: skip

SETTINGS: Table[FitSetting] = Table(
    "settings of memory",
    "Settings that change the peak, at the recorded batch.",
    FitSetting,
    (
        head(
            "peak_bytes", "Peak, est.", Unit.BYTES,
            "As recorded it is measured; with another setting est., by what the setting drops or adds.",
            "memory_setting_peak",
        ),
        head(
            "step_ns", "Step, est.", Unit.NS,
            "The steady step, and what a checkpoint computes again or the host copies.", "memory_setting_step",
        ),
        head(
            "copied_bytes", "Copied", Unit.BYTES,
            "Between GPU and host per step, both directions.", "memory_setting_copied",
        ),
        head(
            "copy_ns", "Copies, est.", Unit.NS,
            "Time of these copies, at the rates of the recorded ones.", "memory_setting_copies",
        ),
        head(
            "largest", "Largest batch", Unit.NUMBER,
            "The largest batch that fits into the device with this setting, est.", "memory_setting_largest",
        ),
    ),
)  # fmt: skip
