"""python -m tests.browser.tensorboard_with_ours: TensorBoard's own command with our plugin as the only added one.

The PyTorch Profiler tab reads every trace at start, which takes many times as
long as these tests. One test includes it.
"""

from __future__ import annotations

from tensorboard import default, main

from tb_steptime.plugin import StepTimePlugin

default.get_dynamic_plugins = lambda: [StepTimePlugin]

if __name__ == "__main__":
    main.run_main()
