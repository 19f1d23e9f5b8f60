"""Waits for batches: for which loader, how long, and how much of each wait leaves the GPU idle.

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
  (`metrics/data_loading/epoch_starts.py`), in no gain of more workers, and in every point of the curve, because a
  point is a whole step like the measured one. Worker processes start before the loader's mark of a wait, after a new
  iterator has drawn its seed; that time is no wait, and no part of the pace of a step.
- Even with persistent workers the first batch of an epoch is only produced then: if that is recorded, its time is not
  counted as a gain of keeping them.
- Figures are those of the loader that is waited for most (`metrics/data_loading/loaders.py: most_waited`), because
  pace and workers belong to one loader. Other loaders get a share of the wait and a card, never a number of workers,
  and the figures say which loader they are of.
"""
