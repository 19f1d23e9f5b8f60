"""Waits for batches: for which loader the steps wait, how long, and how much of each wait leaves the GPU idle.

Decisions and their reasons:

- A case that a trace cannot resolve is called ambiguous, and the tab suggests recording the workers: one slow batch in
  ten looks like ten workers; one worker and several evenly spaced round-robin workers look alike, as each step waits
  equally long; several batches of one class in a step are of one loader or of several.
- A wait is either for a batch that is late, or for receiving one that is ready. The recorder knows when each batch was
  produced; a trace alone does not, except in a pattern of bursts. Without either, waits as short as that for a batch of
  one small tensor (1.5 ms on a busy machine, at most 8 % of the step) are not counted as waits for late batches
  (`metrics/data_loading/loaders.py: short_wait_ns`); for longer ones the tab says that both are possible.
- The cost of receiving is a median, minus what any batch costs. On a machine with too few cores the training process is
  stopped while it unpickles; smaller batches would not save the sum of such pauses.
- The first batch of each worker does not show how long batches take: an iterable dataset opens its files in it.
- No number of workers ends the wait for an epoch's first batch: nothing is prefetched yet, and without
  `persistent_workers` processes start first. So it is a share of the exposed wait by itself
  (`metrics/data_loading/loaders.py: find_epoch_starts`), in no gain of more workers, and in every point of the curve,
  because a point is a whole step like the measured one. Worker processes start before the loader's mark of a wait,
  after a new iterator has drawn its seed; that time is no wait, and no part of the pace of a step.
- Even with persistent workers the first batch of an epoch is only produced then: if that is recorded, its time is not
  counted as a gain of keeping them.
- Figures are those of the loader that is waited for most (`metrics/data_loading/loaders.py: most_waited`), because pace
  and workers belong to one loader. Other loaders get a share of the wait and a card, never a number of workers, and the
  figures say which loader they are of.
- The time between two long waits is a worker's time for a batch (`metrics/data_loading/bursts.py`): a worker whose
  batch is waited for begins the next one at once. Batches that were prefetched before the recording come before the
  first long wait and do not count. (A starting profiler stops the loop, and the queues fill.) Waits are compared by
  their order of magnitude, because a pause of the host shortens one long wait without changing the pattern.
- A period belongs to the workers only if the steps have no such period. During a longer step the workers prefetch, so
  one worker and a log every tenth step look like ten workers. A wait never lengthens a later remainder of the step. So
  if the remainder has the period, and is long where waits are short, the steps cause the period.
- There is a single calculation (`metrics/data_loading/throughput.py`): the curve begins at the measured mean step minus
  its waits for late batches, so title, gain and cards are differences of its points. Waits that neither the pace nor
  the spread explains end where there is room for them, and remain where more workers would not find room.
- Batches are delivered in order, so a slow one blocks those behind it (`metrics/data_loading/bursts.py`). With just
  enough workers to keep up, this costs a twentieth of the step if batches vary by a quarter of their mean, and a
  quarter to a half if they vary by all of it. No formula of the mean captures this, so round-robin workers are
  simulated: with the recorded batches in their order, since it matters which worker gets the slow ones; with random
  times if only mean and spread are known. Workers of an `IterableDataset` have batches of their own, so their order
  with another number of workers is unknown.
"""
