"""When is a batch there? Workers take orders in turn and deliver in order; an order goes out for each batch received.

worker 0   000000000333333333
worker 1   111111111444444444      three workers, batches of 9, a consumer that needs 2:
worker 2   222222222555555555
consumer            00 11 22   33  one long wait, then two short ones
"""

from __future__ import annotations

from random import Random

from tests.truth.simulate.causes import Loader


class Workers:
    """The state of the workers between two requests of the main thread."""

    def __init__(self, loader: Loader, random: Random, start_ns: int) -> None:
        self.loader = loader
        self.random = random
        self.free_ns = [start_ns] * max(1, loader.workers)
        self.ready_ns: list[int] = []
        self.produced_ns: list[int] = []
        for _ in range(loader.workers * loader.prefetch):
            self._order(start_ns)
        self.received = 0

    def next_batch(self, request_ns: int) -> int:
        """When the main thread, which asks at request_ns, receives the next batch."""
        if not self.loader.workers:
            return request_ns + self._production_ns()
        received_ns = max(request_ns, self.ready_ns[self.received]) + self.loader.receive_ns
        self.received += 1
        self._order(received_ns)
        return received_ns

    def _order(self, now_ns: int) -> None:
        worker = len(self.ready_ns) % self.loader.workers
        self.free_ns[worker] = max(now_ns, self.free_ns[worker]) + self._production_ns()
        self.ready_ns.append(self.free_ns[worker])

    def _production_ns(self) -> int:
        share = max(0.1, 1 + self.loader.jitter * self.random.gauss(0, 1))
        self.produced_ns.append(round(self.loader.batch_ns * share))
        return self.produced_ns[-1]
