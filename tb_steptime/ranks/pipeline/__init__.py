"""Jobs whose ranks are the stages of a pipeline: what each computes when, and why it is idle between.

stage 0   F0 F1 F2 F3 ........ B0 .. B1 .. B2 .. B3     a bubble is what a stage is idle between its first and last pass
stage 1   .. F0 F1 F2 F3 .. B0 .. B1 .. B2 .. B3 ..     and those of the others, F and B: passes of micro-batch 0, 1, ..

Decisions and their reasons:

- What decides is an order of events, and no name: each forward pass begins after that of the stage before it, each
  backward pass after that of the stage behind it. Ranks that compute at the same time, as those of data, tensor and
  expert parallel jobs do, are in no order of that kind, whatever their clocks say: their passes overlap both ways. So
  a job is a pipeline only where all passes of a chain of ranks are in order.
- The same order tells how far clocks are apart: an instant of one rank lies between two of the other. No collective is
  needed, which a pure pipeline does not have.
- Causes are differences of replays. The passes are replayed without messages, then in the order of the schedule, then
  with all stages as long as their mean; what each change saves is what its cause costs, and what is idle at the end is
  the schedule's own. So the causes of a step sum to its bubble, and none is measured by a threshold.
- Only what a message delayed is idle: time after the last message, and before a pass begins, is the stage's own, such
  as a host that is late or an optimizer, and stays in every replay.
"""
