"""A question from forums: "backward() takes long with sparse tensors, and my training on several GPUs in one process
does not scale. Where is the hidden synchronization?"

    python examples/forum/sparse_multi_gpu.py --out forum_logs --with-stack    # on all GPUs, or the CPU without one
    tensorboard --logdir forum_logs                                            # then open the tab "Step Insights"

A graph network of three layers (each node takes the mean of its neighbours), in up to four variants:

  dense_one, sparse_one              the adjacency as a dense or as a sparse matrix, on one device
  dense_several, sparse_several      a graph on each GPU, one loop of one process for all of them; needs two

The gradient of a layer is the product of the transposed adjacency with the gradient of its output. A transposed sparse
matrix is not coalesced: its indices are sorted and counted first, and the host must know how many are left. So each
backward() waits for its GPU, once a layer, inside a node of the autograd engine, where no line of the training script
says so; and while the loop waits for one GPU it gives the others nothing to do. With dense matrices the same loop runs
ahead of all GPUs. On one GPU the same waits look as long, and cost next to nothing: the GPU works meanwhile.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from recording import arguments, recorded, total_steps
from torch import Tensor, nn

HIDDEN, CLASSES, LAYERS, NEIGHBOURS = 256, 10, 3, 50
VARIANTS = ["dense_one", "sparse_one", "dense_several", "sparse_several"]


class GraphNetwork(nn.Module):
    """Each layer applies a linear map to every node, and then takes the mean over the node's neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(LAYERS))
        self.classes = nn.Linear(HIDDEN, CLASSES)

    def forward(self, nodes: Tensor, adjacency: Tensor) -> Tensor:
        for layer in self.layers:
            nodes = neighbours_mean(adjacency, layer(nodes)).relu()
        return self.classes(nodes)


def neighbours_mean(adjacency: Tensor, nodes: Tensor) -> Tensor:
    return torch.sparse.mm(adjacency, nodes) if adjacency.is_sparse else adjacency @ nodes


def random_graph(count: int, device: torch.device, sparse: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes, adjacency matrix (the entries of a row sum to 1) and labels."""
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(0, count, (count * NEIGHBOURS,), generator=generator)
    edges = torch.stack((torch.arange(count).repeat_interleave(NEIGHBOURS), targets))
    weights = torch.full((count * NEIGHBOURS,), 1 / NEIGHBOURS)
    adjacency = torch.sparse_coo_tensor(edges, weights, (count, count), check_invariants=False).coalesce()
    nodes = torch.randn(count, HIDDEN, generator=generator)
    labels = torch.randint(0, CLASSES, (count,), generator=generator)
    return nodes.to(device), (adjacency if sparse else adjacency.to_dense()).to(device), labels.to(device)


class Training:
    """The same network on each device. The first one holds the parameters that the optimizer updates."""

    def __init__(self, devices: Sequence[torch.device], nodes: int, sparse: bool) -> None:
        network = GraphNetwork()
        self.networks = [copy.deepcopy(network).to(device) for device in devices]
        self.graphs = [random_graph(nodes // len(devices), device, sparse) for device in devices]
        self.optimizer = torch.optim.SGD(self.networks[0].parameters(), lr=0.01, momentum=0.9)

    def step(self) -> None:
        for network, (nodes, adjacency, labels) in zip(self.networks, self.graphs, strict=True):
            network.zero_grad()
            loss = nn.functional.cross_entropy(network(nodes, adjacency), labels)
            loss.backward()
        self._add_gradients()
        self.optimizer.step()
        self._hand_out()

    @torch.no_grad()
    def _add_gradients(self) -> None:
        for parameter, *others in zip(*(network.parameters() for network in self.networks), strict=True):
            for other in others:
                parameter.grad += other.grad.to(parameter.device, non_blocking=True)

    @torch.no_grad()
    def _hand_out(self) -> None:
        for parameter, *others in zip(*(network.parameters() for network in self.networks), strict=True):
            for other in others:
                other.copy_(parameter, non_blocking=True)


def devices_of(variant: str, kind: str) -> list[torch.device]:
    """The devices of a variant. The list is empty if the variant needs more devices than there are."""
    if variant.endswith("_one"):
        return [torch.device(kind, 0) if kind == "cuda" else torch.device(kind)]
    count = torch.cuda.device_count() if kind == "cuda" else 0
    return [torch.device("cuda", number) for number in range(count)] if count > 1 else []


def main() -> None:
    parser = arguments(__doc__.partition("\n\n")[0], VARIANTS)
    parser.add_argument("--nodes", type=int, default=32768, help="over all devices; a dense matrix has their square")
    options = parser.parse_args()
    for variant in options.variants:
        devices = devices_of(variant, options.device)
        if not devices:
            print(f"{variant}: left out, it needs two GPUs")
            continue
        training = Training(devices, options.nodes, variant.startswith("sparse"))
        with recorded(options.out / variant, devices[0], options.steps, options.with_stack) as profiler:
            for _ in range(total_steps(options.steps)):
                training.step()
                profiler.step()


if __name__ == "__main__":
    main()
