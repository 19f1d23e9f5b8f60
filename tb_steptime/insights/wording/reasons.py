"""Why something is not known, in words: one template for each code that metrics and analyses return as a `Reason`.

The table travels to the tab in the catalogue; the terminal asks `explain`.
"""

from __future__ import annotations

from tb_steptime.text import Phrase, Reason

#: By code. A whole sentence: it stands alone, and after the meaning of the figure that is not known.
REASONS: dict[str, str] = {
    "differs_by_loader": "Differs from loader to loader.",
    "empty_window": "The steps have no length.",
    "few_batches": "Too few batches are recorded.",
    "loader_count_unknown": "One loader or several: the trace does not say.",
    "loader_limits_steps": "The loader limits the steps.",
    "loader_on_other_thread": "The loader is read on another thread.",
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
    "workers_not_in_trace": "The worker processes are not in this trace.",
}


def explain(reason: Reason) -> Phrase:
    """The sentence of a reason. KeyError where the table lacks its code."""
    return Phrase(REASONS[reason.code], reason.values)
