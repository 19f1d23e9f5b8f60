"""python -m tests.browser.tensorboard_with_ours: TensorBoard as its own command, with no other plugin than ours added.

The PyTorch Profiler tab reads every trace at start, for many times as long as these tests take. One test has it there.
"""

from __future__ import annotations

from tensorboard import default, main

from tb_steptime.plugin import StepTimePlugin

default.get_dynamic_plugins = lambda: [StepTimePlugin]

if __name__ == "__main__":
    main.run_main()
