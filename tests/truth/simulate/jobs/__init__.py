"""Jobs beside the demo's: what trains or answers, and what is done to it.

transformer.py   a transformer's ops and kernels; fused or eager attention
compiled.py      the same under torch.compile; graphs with and without their nodes
inference.py     prompts and decoding, eager and from a graph
ranks.py         the same with gradients exchanged between ranks, hidden or not
transfers.py     copies to the device, and what waits for it
edges.py         what happens once, what no record tells, and other streams
cpu_only.py      trainings without a GPU
"""
