"""Steps, the windows of per-step figures: as marks show them, as repeated calls do, or the recording as one step."""

from tb_steptime.trace.steps.inferred import inferred_steps
from tb_steptime.trace.steps.windows import Step, Steps, StepsBy, as_one_step, find_steps, only_steps

__all__ = ["Step", "Steps", "StepsBy", "as_one_step", "find_steps", "inferred_steps", "only_steps"]
