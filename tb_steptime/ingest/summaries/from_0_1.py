"""Results as 0.1.0 wrote them (format 1) -> format 2. That release wrote sentences and titles among the figures, and
spread what it knew of a loader over more fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

#: Sentences of 0.1.0 that are codes now.
CODES: Mapping[str, str] = {
    "A depthwise convolution or a vector: tensor cores multiply matrices": "no_matrix_product",
    "A size of {length} is no multiple of {unit}": "misaligned_size",
    "By a part of their names it counts kernels with {wrong} of kernel time that run on the plain cores or cannot be "
    "told.": "profiler_tab_miscounts",
    "FP32 inputs, and TF32 is off": "tf32_off",
    "FP32 inputs, and no convolution here runs as TF32": "tf32_off_in_cudnn",
    "FP32 inputs, which the tensor cores of this GPU do not take": "fp32_unsupported",
    "It counts the kernels before the first and after the last step too.": "profiler_tab_counts_outside_steps",
    "It prepares or completes a product that does not use them": "stage_of_product",
    "Its inputs' layout is converted around it": "layout_converted",
    "Its inputs' type has no tensor cores on this GPU": "type_unsupported",
    "Its kernel is for operands that are not aligned": "misaligned_kernel",
    "Its list of name parts lacks kernels with {missed} of kernel time that run on tensor cores, and counts {wrong} in "
    "kernels that do not or cannot be told.": "profiler_tab_misses_and_miscounts",
    "Its list of name parts lacks kernels with {missed} of kernel time that run on tensor cores.": (
        "profiler_tab_misses"
    ),
    "No gain is computed: the peaks of this GPU are not known, or nothing here can move.": "no_gain_computed",
    "This trace does not record the inputs of its op; record_shapes=True does": "inputs_not_recorded",
    "Type and sizes fit; the library chose a kernel without them": "library_choice",
    "hidden behind kernels": "collectives_overlap_kernels",
    "no collective in this trace": "no_collective",
    "no copy in the steps": "no_copy_in_steps",
    "no kernel in the steps": "no_kernel_in_steps",
    "no loader events in the steps": "no_loader_events_in_steps",
    "no runtime call in this trace": "no_runtime_call",
    "no set in the steps": "no_memset_in_steps",
    "{time} x (1 - {plain} / {tensor}), the peaks in TFLOP/s without and with tensor cores, at most what the memory "
    "bandwidth leaves.": "gain_by_peaks_and_bandwidth",
    "{time} x (1 - {plain} / {tensor}), the peaks in TFLOP/s without and with tensor cores.": "gain_by_peaks",
    "As far as cores and disk allow: this trace does not say how many cores the machine has.": "curve_cores_not_known",
    "As far as disk or network allow.": "curve_as_far_as_disk_allows",
    "How many workers there are cannot be told from this trace, because every step waits alike: one worker, or several "
    "that take turns evenly.": "ambiguous_record_the_workers",
    "No kernel runs on this device within the steps.": "no_kernels_in_steps",
    "The loader's own work cannot be told from this trace, because it is not apart from its waits.": (
        "overhead_hidden_by_late_batches"
    ),
    "The window has no length.": "empty_window",
    "This GPU has no tensor cores.": "no_tensor_cores",
    "This trace does not say how many blocks per SM its kernels have (AMD GPUs do not record it).": (
        "no_blocks_recorded"
    ),
    "This trace has no GPU activity.": "no_gpu_activity",
    "This trace has no loader events: no torch DataLoader is read on a recorded thread inside its steps. One that "
    "another thread reads ahead shows once two lines in the script record it.": "no_loader_events",
    "This trace records no occupancy (AMD GPUs do not).": "no_kineto_occupancy",
    "This trace records no registers and shared memory of its kernels, or no limits of the GPU (AMD GPUs do not).": (
        "no_launch_shapes"
    ),
    "differs from loader to loader": "differs_by_loader",
    "no GPU activity": "no_gpu_activity",
    "no launch calls in this trace": "no_launch_calls",
    "no loader events": "no_loader_events",
    "on another thread": "loader_on_other_thread",
    "one loader or several, not known": "loader_count_unknown",
    "the workers are not in this trace": "workers_not_in_trace",
}

#: Figures of the Host view that have another id now.
_HOST_FIGURES = {
    "back_pressure": "full_queue_time",
    "gpu_busy": "gpu_busy_time",
    "idle_share": "gpu_idle_share",
    "queue_max": "queue_peak",
    "run_ahead": "run_ahead_p50",
}


def upgrade(view: str, result: Json) -> Json:
    for note in result["facts"]["notes"] if view == "head" else result.get("recorder_notes", ()):
        _upgrade_note(note, result)
    for each in (result, *result.get("devices", ())) if view in ("gpu", "host", "trends") else ():
        _rename(each, {"pieces": "segments", "strips": "time_bins"})
    if view == "host" and result.get("answer"):
        figures = {each["id"]: each["value"]["value"] for each in result["answer"]["figures"]}
        result["figures"] = {_HOST_FIGURES.get(id, id): value for id, value in figures.items()}
    if view == "host":  # kernels that are loaded come once, and are no pauses now
        result["pauses"] = [pause for pause in result["pauses"] if pause["cause"] != "lazy_loading"]
    if view == "trends":
        result["slow_steps"] = [row | _longest_event(row["seen"]) for row in result["slow_steps"]]
    return _data_loading(result) if view == "data_loading" else result


def _longest_event(seen: Json | None) -> Json:
    """Of "{name} of {time}"."""
    if seen is None:
        return {}
    return {"longest_event": seen["values"]["name"]["value"], "longest_event_ns": seen["values"]["time"]["value"]}


def _upgrade_note(note: Json, head: Json) -> None:
    """A note was two sentences."""
    said = note.pop("cause")["values"] | note.pop("effect")["values"]
    note["values"] = {key: value for key, value in said.items() if value["unit"] != "code"}
    if note["id"] == "simulated":
        note["values"] = {"statement": {"value": head["facts"]["simulated"], "unit": "text"}}


def _rename(value: Json, names: Mapping[str, str]) -> None:
    for old, new in names.items():
        if old in value:
            value[new] = value.pop(old)


def _data_loading(result: Json) -> Json:
    return result | {
        "loaders": [loader | {"label": _text(loader["label"])} for loader in result["loaders"]],
        "activities": _activities(result),
        "causes": _causes(result) if result["shares"] else None,
        "burst": _burst(result["burst"]) if result["burst"] else None,
        "curve": _curve(result) if result["curve"] else None,
        "recorded": _recorded(result["recorded"]) if result["recorded"] else None,
    }


def _text(phrase: Json) -> str:
    """ "Training loader 2" of a template and its number."""
    values = {key: each["value"] for key, each in phrase["values"].items()}
    return str(phrase["template"].format(**values))


def _activities(result: Json) -> Json | None:
    if not result["activities"] and not result["slow_lines"]:
        return None
    return {
        "rows": result["activities"],
        "more": result["more_activities"],
        "more_ns": result["more_activities_ns"],
        "slow_lines": result["slow_lines"],
    }


def _causes(result: Json) -> Json:
    overhead = result["overhead"]
    return {
        "shares": result["shares"] | {"others_ns": result["shares"]["elsewhere_ns"]},
        "starts": _starts(result["starts"]) if result["starts"] else None,
        "jitter": result["jitter"],
        "overhead": overhead | {"gain_ns": 0, "source": _source(overhead["told_by"])} if overhead else None,
    }


def _source(told_by: str | None) -> str | None:
    return "short" if told_by == "steady" else told_by


def _starts(starts: Json) -> Json | None:
    """All loaders together; their mean wait is that of the loaders, by their batches."""
    asked = [each for each in starts["loaders"] if each["wait_ns"] is not None]
    batches = sum(each["batches"] for each in asked)
    if not batches:
        return None
    respawned = {each["anew"] for each in asked}
    return {
        "batches": starts["batches"],
        "wait_ns": round(sum(each["batches"] * each["wait_ns"] for each in asked) / batches),
        "exposed_ns": starts["exposed_ns"],
        "setup_ns": starts["making_ns"],
        "respawned": respawned.pop() if len(respawned) == 1 else None,
        "produced_ns": None,
        "steps": list(dict.fromkeys(step for each in starts["loaders"] for step in each["steps"])),
    }


def _burst(burst: Json) -> Json:
    """A recorder's number of workers was among what waits show; it stands with the recorder's figures now."""
    seen = burst["workers_from"] if burst["workers_from"] in ("stacks", "period") else None
    return burst | {
        "workers": burst["workers"] if seen else burst["period"],
        "workers_from": seen or ("period" if burst["period"] else None),
        "why": next(iter(burst["gates"]), None),
    }


def _curve(result: Json) -> Json:
    curve: Json = result["curve"]
    return curve | {
        "needed": result["needed_workers"] or curve["recommended"],
        "epochs_ns": curve["apart_ns"],
        "batches": result["batches_per_step"] or 1.0,
        "limits": [curve["limit"]] if curve["limit"] else [],
    }


def _recorded(recorded: Json) -> Json | None:
    main = next((each["loader"] for each in recorded["loaders"] if each["main"]), None)
    if main is None:
        return None
    taken, used, lines = recorded["taken_every_ns"], recorded["consumer_ns"], recorded["lines"]
    return (
        recorded
        | {
            "main": main,
            "late_ns": max(0, taken - used) if taken is not None and used is not None else 0,
            "loaders": [each | {"label": _text(each["label"])} for each in recorded["loaders"]],
            "workers": [each | _sampled(each) for each in recorded["workers"]],
            "lines": lines | {"samples": lines["looks"]} if lines else None,
        }
        | _sampled(recorded)
    )


def _sampled(row: Json) -> Json:
    return {"sampled": row["looked"], "kind": None if row["few_looked"] else row["kind"]}
