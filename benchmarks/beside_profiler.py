"""python -m benchmarks.beside_profiler: TensorBoard as its own command, with the PyTorch Profiler tab active.

Its package has to be importable; whether its entry point is there makes no difference. That tab reads every trace when
TensorBoard starts.
"""

from __future__ import annotations

from tensorboard import default, main
from torch_tb_profiler.plugin import TorchProfilerPlugin

_installed = default.get_dynamic_plugins

default.get_dynamic_plugins = lambda: list(dict.fromkeys([*_installed(), TorchProfilerPlugin]))

if __name__ == "__main__":
    main.run_main()
