"""Steps, the windows of per-step figures: from step marks, from repeated calls, or the whole recording as one step.

Decisions and their reasons:

- Steps are inferred from calls whose name shows that they are made once a step, never from a sequence of ops that
  repeats: a loop over a small model and one pass through twelve like layers leave the same sequence.
"""

from tb_steptime.trace.steps.inferred import inferred_steps
from tb_steptime.trace.steps.windows import Step, Steps, StepsBy, as_one_step, averaged_over, find_steps, only_steps

__all__ = ["Step", "Steps", "StepsBy", "as_one_step", "averaged_over", "find_steps", "inferred_steps", "only_steps"]
