"""Jobs whose ranks are the stages of a pipeline: when each stage computes what, and why it is idle in between.

stage 0   F0 F1 F2 F3 ........ B0 .. B1 .. B2 .. B3     a bubble is the idle time of a stage between the first and the
stage 1   .. F0 F1 F2 F3 .. B0 .. B1 .. B2 .. B3 ..     last pass of any stage; F and B: passes of micro-batch 0, 1, ...

Decisions and their reasons:

- A pipeline is recognised by the order of events, not by names: each forward pass begins after that of the stage before
  it, each backward pass after that of the stage behind it. Ranks that compute at the same time, as those of data,
  tensor and expert parallel jobs do, do not have that order, whatever their clocks say: their passes overlap both ways.
  So a job is a pipeline only where all passes of a chain of ranks are in order.
- The same order shows how far clocks are apart: an instant of one rank lies between two of the other. No collective is
  needed; a pure pipeline has none.
- Causes are differences of replays. The passes are replayed without messages, then in the order of the schedule, then
  with all stages as long as their mean. The time that each change saves is the cost of its cause, and the idle time
  that is left is the schedule's own. So the causes of a step sum to its bubble, and none depends on a threshold.
- Only time in which a stage waits for a message counts as idle: time after the last message, and before a pass begins,
  is the stage's own, such as a host that is late or an optimizer, and stays in every replay.
"""
