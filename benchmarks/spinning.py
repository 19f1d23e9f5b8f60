"""python -m benchmarks.spinning: TensorBoard with ours and a thread that never gives the interpreter away by itself.

So does another tab in TensorBoard's process that merges what it read: Python takes the interpreter from it every 5 ms
for one that waits, and gives it back.
"""

from __future__ import annotations

import threading

from tensorboard import default, main

from tb_steptime.plugin import StepTimePlugin

default.get_dynamic_plugins = lambda: [StepTimePlugin]


def spin() -> None:
    number = 0
    while True:
        number += 1


if __name__ == "__main__":
    threading.Thread(target=spin, daemon=True).start()
    main.run_main()
