"""Why something is not known, in words: one template for each code that metrics and analyses return as a `Reason`.

The table travels to the tab in the catalogue; the terminal asks `explain`.
"""

from __future__ import annotations

from tb_steptime.text import Phrase, Reason

#: By code. A whole sentence: it stands alone, and after the meaning of the figure that is not known.
REASONS: dict[str, str] = {
    "ambiguous_record_the_workers": "How many workers there are is ambiguous in this trace: record the workers.",
    "curve_as_far_as_disk_allows": "As far as disk or network allow.",
    "curve_cores_not_known": "As far as cores and disk allow: this trace does not say how many cores the machine has.",
    "curve_if_other_loaders_keep_up": "As far as the other loaders keep up.",
    "curve_limited_by_cores": "The workers compute, and the machine has {cores} cores: more workers slow each other "
    "down.",
    "curve_lived_on_prefetched_batches": "These steps used batches that were prefetched while the profiler started: "
    "later a step takes about {then} instead of {now}.",
    "differs_by_loader": "Differs from loader to loader.",
    "empty_window": "The steps have no length.",
    "late_batches_are_few": "How long a batch takes is not known, because late batches take only {share} of the "
    "step: at most {most}, times the number of workers.",
    "loader_count_unknown": "One loader or several: the trace does not say.",
    "loader_on_other_thread": "The loader is read on another thread.",
    "machine_too_busy_to_sample_lines": "Lines are not known: the machine was too busy to sample the workers in time.",
    "no_blocks_recorded": "The trace has no blocks per SM (AMD GPUs do not record them).",
    "no_gpu_activity": "This trace has no GPU activity.",
    "no_kernels_in_steps": "No kernel runs on this GPU within the steps.",
    "no_kineto_occupancy": "The trace has no occupancy (AMD GPUs do not record it).",
    "no_launch_calls": "The trace has no kernel launch calls.",
    "no_launch_shapes": "The trace has no registers and shared memory of its kernels, or no limits of the GPU (AMD "
    "GPUs do not record them).",
    "no_loader_events": "The trace has no loader events.",
    "no_tensor_cores": "This GPU has no tensor cores.",
    "older_release": "An older release of tb-steptime measured this and did not keep why it is not known.",
    "overhead_hidden_by_late_batches": "The loader's own work is not known: late batches hide it.",
    "record_more_steps": "How many workers keep up is not known: record more steps within an epoch.",
    "too_few_line_samples": "Lines are not known: the workers were sampled {bursts} times, at most once a second, "
    "and {least} are needed.",
    "workers_not_in_trace": "The worker processes are not in this trace.",
}


def explain(reason: Reason) -> Phrase:
    """The sentence of a reason. KeyError where the table lacks its code."""
    return Phrase(REASONS[reason.code], reason.values)
