"""Results as 0.1.0 wrote them (format 1) -> format 2. That release wrote sentences and titles among the figures, and
spread what it knew of a loader over more fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

#: Sentences of 0.1.0 that are codes now.
CODES: Mapping[str, str] = {
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
    if view == "host" and result.get("answer"):
        figures = {each["id"]: each["value"]["value"] for each in result["answer"]["figures"]}
        result["figures"] = {_HOST_FIGURES.get(id, id): value for id, value in figures.items()}
    return _data_loading(result) if view == "data_loading" else result


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
        "overhead": overhead | {"source": overhead["told_by"]} if overhead else None,
        "other_loaders": result["elsewhere"],
    }


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
        "deeper_ns": result["deeper_ns"] or 0,
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
    return {"sampled": row["looked"], "few_sampled": row["few_looked"]}
