"""python -m tools.tensorboard_with_ours: TensorBoard's own command with our plugin as the only added one.

The PyTorch Profiler tab reads every trace at start, each in a process of its own: of the demo 49 at once, for which two
cores need a minute. One test includes it.
"""

from __future__ import annotations

from tensorboard import default, main

from tb_steptime.plugin import StepTimePlugin

default.get_dynamic_plugins = lambda: [StepTimePlugin]

if __name__ == "__main__":
    main.run_main()
