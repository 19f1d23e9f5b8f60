"""python -m benchmarks.spinning: TensorBoard with our plugin and a thread that never yields the interpreter by itself.

Another tab in TensorBoard's process does the same while it merges what it has read: every 5 ms Python takes the
interpreter from it for a waiting thread, and gives it back.
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
