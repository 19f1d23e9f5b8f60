"""What is known not to be right yet, with the point of the work that will mend it. Empty is what it should be.

Part: "verdict", "cards" that have to be there, or "extra" ones that nobody would sign.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {
    ("hta_a100_alexnet_cudasync", "extra"): "11",  # launch_graphs long_stretches
    ("hta_a100_ddp_control", "cards"): "4",  # exposed_communication
    ("hta_mi250_toy", "cards"): "11",  # one_time
    ("hta_mi250_toy", "extra"): "11",  # fused_optimizer launch_graphs
    ("hta_v100_ns", "extra"): "1",  # slow_steps
    ("tracelens_h100_timesformer", "cards"): "5",  # eager_attention
    ("tracelens_mi300_resnet", "cards"): "4",  # exposed_communication
    ("healthy_partial_waves", "extra"): "7",  # small_grids
    ("head_hidden_waits_for_batches", "extra"): "1",  # input_bound
    ("head_hidden_slow_batch", "extra"): "1",  # input_bound
    ("head_hidden_graph", "extra"): "1",  # input_bound
    ("head_and_tail", "extra"): "1",  # input_bound
    ("once_first_product", "extra"): "11",  # long_stretches slow_steps
    ("unrecorded_work_queued", "cards"): "2",  # unrecorded_work
    ("side_stream_busy", "extra"): "1",  # slow_steps
    ("side_stream_unrecorded", "extra"): "2",  # slow_steps
    ("decode_graph_short", "verdict"): "6",  # dependency
    ("decode_graph_short", "extra"): "6",  # launch_graphs
    ("decode_graph_without_nodes", "extra"): "2",  # long_stretches sync_bubble
    ("ranks_after_backward", "cards"): "4",
    ("ranks_many_small", "cards"): "4",  # exposed_communication|many_small_collectives
    ("ranks_on_compute_stream", "cards"): "4",
    ("ranks_slow_network", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|many_small_collectives
    ("ranks_last_bucket", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|many_small_collectives
    ("eager_attention", "cards"): "5",  # eager_attention
    ("eager_attention_prompt", "cards"): "5",  # eager_attention
    ("odd_length", "cards"): "5",  # alignment|eager_attention|slow_products alignment|slow_products eager_attention
    ("odd_vocabulary", "cards"): "5",  # alignment|slow_products
    ("device_copies", "cards"): "5",  # device_copies|layout_conversion
}
