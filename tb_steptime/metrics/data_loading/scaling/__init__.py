"""How the step changes with the number of workers.

Decisions and their reasons:

- The time between two long waits is a worker's time for a batch (`metrics/data_loading/scaling/bursts.py`): a worker
  whose batch is waited for begins the next one at once. Batches that were prefetched before the recording come before
  the first long wait and do not count. (A starting profiler stops the loop, and the queues fill.) Waits are compared by
  their order of magnitude, because a pause of the host shortens one long wait without changing the pattern.
- A period belongs to the workers only if the steps have no such period. During a longer step the workers prefetch, so
  one worker and a log every tenth step look like ten workers. A wait never lengthens a later remainder of the step. So
  if the remainder has the period, and is long where waits are short, the steps cause the period.
- There is a single calculation (`metrics/data_loading/scaling/worker_curve.py`): the curve begins at the measured mean
  step minus its waits for late batches, so title, gain and cards are differences of its points. Waits that neither the
  pace nor the spread explains end where there is room for them, and remain where more workers would not find room.
- Batches are delivered in order, so a slow one blocks those behind it
  (`metrics/data_loading/scaling/in_order_delivery.py`). With just enough workers to keep up, this costs a twentieth of
  the step if batches vary by a quarter of their mean, and a quarter to a half if they vary by all of it. No formula of
  the mean captures this, so round-robin workers are simulated: with the recorded batches in their order, since it
  matters which worker gets the slow ones; with random times if only mean and spread are known. Workers of an
  `IterableDataset` have batches of their own, so their order with another number of workers is unknown.
"""
