"""What is known not to be right yet, with the point of the work that will mend it. Empty is what it should be.

Part: "verdict", "cards" that have to be there, or "extra" ones that nobody would sign.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {
    ("hta_a100_ddp_control", "cards"): "4",  # exposed_communication
    ("hta_v100_ns", "extra"): "1",  # slow_steps
    ("tracelens_h100_timesformer", "cards"): "5",  # eager_attention
    ("tracelens_mi300_resnet", "cards"): "4",  # exposed_communication
    ("healthy_partial_waves", "extra"): "7",  # small_grids
    ("head_and_tail", "extra"): "1",  # input_bound
    ("once_first_product", "extra"): "11",  # long_stretches slow_steps
    ("side_stream_busy", "extra"): "1",  # slow_steps
    ("side_stream_unrecorded", "extra"): "2",  # slow_steps
    ("ranks_after_backward", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("ranks_many_small", "cards"): "4",  # exposed_communication|small_collectives
    ("ranks_on_compute_stream", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("ranks_slow_network", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("ranks_last_bucket", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("eager_attention", "cards"): "5",  # eager_attention
    ("eager_attention_prompt", "cards"): "5",  # eager_attention
    ("odd_length", "cards"): "5",  # alignment|eager_attention|slow_matmul alignment|slow_matmul eager_attention
    ("odd_vocabulary", "cards"): "5",  # alignment|slow_matmul
    ("device_copies", "cards"): "5",  # device_copies|layout_conversion
}
