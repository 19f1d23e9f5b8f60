"""What is known not to be right yet, with the point of the work that will mend it. Empty is what it should be.

Part: "verdict", "cards" that have to be there, or "extra" ones that nobody would sign.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {
    ("hta_v100_ns", "extra"): "1",  # slow_steps
    ("loop_two_gpus", "extra"): "1",  # slow_steps
    ("head_hidden_waits_for_batches", "extra"): "1",  # input_bound
    ("head_hidden_slow_batch", "verdict"): "1",  # input
    ("head_hidden_slow_batch", "extra"): "1",  # input_bound
    ("head_hidden_graph", "verdict"): "1",  # input
    ("head_hidden_graph", "extra"): "1",  # input_bound
    ("head_and_tail", "verdict"): "1",  # input
    ("head_and_tail", "extra"): "1",  # input_bound
    ("side_stream_busy", "extra"): "1",  # slow_steps
    ("side_stream_unrecorded", "extra"): "2",  # slow_steps
}
