"""Statements about the machine: they claim no more than the trace shows, and use the terms of the device's vendor."""

from __future__ import annotations

import re

import pytest

from tb_steptime.analyses.quality import notes
from tb_steptime.insights.base import JobText
from tb_steptime.serve.catalogue import catalogue
from tb_steptime.text import Note
from tb_steptime.text.printer import plain
from tb_steptime.trace.model import Device, Job, Trace
from tb_steptime.trace.steps import find_steps
from tests.drawn.cards import judged
from tests.drawn.timeline import V100, timeline

CUT = (Note("truncated-file"),)
HOST_SIDE = "step | 0000 |\nop | aaaa |"
ON_A_GPU = "step | 0000 |\nop | aaaa |\nruntime | k... |\nkernel 7 | .kk. |"
LAUNCHES = "step | 0000 |\nop | aaaa |\nruntime | k... |"


def job(trace: Trace) -> JobText:
    return judged(trace).job


@pytest.mark.parametrize(
    ("trace", "machine"),
    [
        (timeline(HOST_SIDE), "CPU only"),
        (timeline(HOST_SIDE, notes=CUT, devices={0: V100}), "GPU part of the file cut off"),
        (timeline(LAUNCHES), "GPU work not recorded"),
        (timeline(LAUNCHES, notes=CUT), "GPU part of the file cut off"),
        (timeline(ON_A_GPU, devices={0: V100}), V100.name),
        (timeline(ON_A_GPU, job=Job(accelerator="MTIA"), devices={0: Device(0, "")}), "MTIA"),
        (timeline(HOST_SIDE, devices={0: V100}), "No GPU activity recorded"),
    ],
)
def test_the_machine_is_what_the_trace_shows_of_it(trace: Trace, machine: str):
    assert plain(job(trace).machine) == machine


def test_an_amd_gpu_has_compute_units():
    device = Device(0, "AMD Instinct MI300X", sm_count=304)
    units = job(timeline(ON_A_GPU, devices={0: device})).units
    assert units is not None
    assert plain(units) == "304 CUs"


def test_the_labels_of_an_amd_gpu_are_of_what_the_catalogue_holds():
    all_of = catalogue()
    named = [*all_of.metrics, *all_of.figures, *all_of.kernel_bins, *all_of.views]
    assert set(all_of.amd_labels) <= {each.id for each in named}
    kept = [getattr(each, "label", getattr(each, "title", "")) for each in named if each.id not in all_of.amd_labels]
    assert [label for label in kept if re.search(r"[Tt]ensor.core|\bSMs?\b|CUDA", label)] == []


def test_a_cut_says_what_it_took_and_that_figures_are_partial():
    assert [note.id for note in notes(timeline(LAUNCHES, notes=CUT))][:2] == ["truncated-file", "cut_before_device"]
    assert "cut_before_device" not in [note.id for note in notes(timeline(ON_A_GPU, notes=CUT))]
    basis = judged(timeline(ON_A_GPU, notes=CUT)).headlines["overview"].basis
    assert basis is not None
    assert plain(basis) == "Partial: the file is cut, so all figures are of 1 step, and of what is left of it."
    assert judged(timeline(ON_A_GPU)).headlines["overview"].basis is None


def test_of_a_cut_file_no_other_recording_is_asked_for_than_the_rest_of_it():
    """What a profiler writes last is missing: what the GPU did, and perhaps the step marks."""
    unmarked = "op | aaaa |\nruntime | k... |"
    cut, whole = timeline(unmarked, notes=CUT), timeline(unmarked)
    action = judged(cut).headlines["overview"].action
    assert action is not None and "the rest of this file is missing" in plain(action)
    assert [note.id for trace in (cut, whole) for note in find_steps(trace).notes] == [
        "no_steps_before_cut",
        "no_steps",
    ]
