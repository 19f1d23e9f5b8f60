"""How the step changes with the number of workers.

Decisions and their reasons:

- The time between two long waits is a worker's time for a batch (`metrics/data_loading/scaling/bursts.py`): a worker
  whose batch is waited for begins the next one at once. Batches that were prefetched before the recording began come
  before the first long wait and do not count. (A profiler that starts stops the loop, and the queues fill.) Waits are
  compared by their order of magnitude, because a pause of the host shortens one long wait and the pattern stays.
- A period belongs to the workers only if the steps have none. During a longer step the workers prefetch, so one
  worker and a log every tenth step look like ten workers. A wait makes no later rest of the step longer: a rest that
  has the period, and is long where waits are short, shows it.
- One arithmetic (`metrics/data_loading/scaling/worker_curve.py`): the curve begins at the measured mean step less its
  waits for late batches, so title, gain and cards are differences of its points. Waits that neither the pace nor the
  spread explains end where there is room for them, and stay where more workers would find none.
- Batches are delivered in order, so a slow one blocks those behind it
  (`metrics/data_loading/scaling/in_order_delivery.py`). With about as many workers as keep up, this costs a twentieth
  of the step where batches differ by a quarter of their mean, and a quarter to a half where they differ by all of it.
  No formula of the mean knows it, so round-robin workers are simulated: with the recorded batches in their order,
  since it matters which worker gets the slow ones; with random times where only mean and spread are known. Workers of
  an `IterableDataset` have batches of their own, so their order with another number of workers is unknown.
"""
