"""What is known not to be right yet, with the point of the work that will mend it. Empty is what it should be.

Part: "verdict", "cards" that have to be there, or "extra" ones that nobody would sign.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {
    ("hta_a100_alexnet_cudasync", "cards"): "11",  # one_time
    ("hta_a100_alexnet_cudasync", "extra"): "11",  # long_stretches
    ("hta_a100_ddp_control", "cards"): "4",  # exposed_communication
    ("hta_a100_event_sync", "extra"): "11",  # launch_graphs
    ("hta_mi250_toy", "extra"): "11",  # launch_graphs
    ("hta_v100_ns", "extra"): "1",  # slow_steps
    ("kineto_v100_resnet50/workers4/worker0.1623213129365.pt.trace.json.gz", "extra"): "1",  # slow_steps
    ("tracelens_mi300_resnet", "cards"): "4",  # exposed_communication
    ("head_hidden", "verdict"): "1",  # unknown
    ("head_hidden", "extra"): "1",  # slow_steps
    ("head_hidden_first_copy_waits", "verdict"): "1",  # unknown
    ("head_hidden_first_copy_waits", "extra"): "1",  # pageable_copies slow_steps
    ("head_and_tail", "extra"): "1",  # input_bound
    ("once_first_product", "cards"): "11",  # one_time
    ("once_first_product", "extra"): "11",  # long_stretches slow_steps
    ("once_context", "cards"): "11",  # one_time
    ("once_context", "extra"): "11",  # long_stretches slow_steps
    ("once_module", "verdict"): "11",  # dependency
    ("once_module", "extra"): "11",  # slow_steps
    ("once_compiled", "cards"): "11",  # one_time
    ("once_compiled", "extra"): "11",  # long_stretches slow_steps
    ("once_allocations", "verdict"): "11",  # sync
    ("once_allocations", "extra"): "11",  # slow_steps
    ("side_stream_busy", "extra"): "1",  # slow_steps
    ("side_stream_unrecorded", "extra"): "2",  # slow_steps
    ("without_marks_head_hidden", "verdict"): "1",  # unknown
    ("without_marks_head_hidden", "extra"): "1",  # slow_steps
    ("decode_graph_short", "verdict"): "6",  # dependency
    ("decode_graph_short", "extra"): "6",  # launch_graphs
    ("decode_graph_without_nodes", "extra"): "2",  # launch_graphs sync_bubble
    ("ranks_after_backward", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("ranks_many_small", "cards"): "4",  # exposed_communication|small_collectives
    ("ranks_on_compute_stream", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("ranks_slow_network", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
    ("ranks_last_bucket", "cards"): "4",  # collectives_on_compute_stream|exposed_communication|small_collectives
}
