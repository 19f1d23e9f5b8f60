"""Does an installed package work? Run by an environment that has it, outside of a checkout's own.

python tools/installed.py LOGDIR     summarize it, open it in TensorBoard and fetch the first picture's parts
"""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

from serve import TensorBoard

PLUGIN = "data/plugin/tb_steptime"


def check(logdir: Path) -> None:
    """Raises AssertionError, and what urllib and subprocess raise."""
    import tb_steptime
    from tb_steptime.trace.kineto.native.choice import reader_name

    home = Path(tb_steptime.__file__).parent
    assert home.parent != Path.cwd(), f"{home} is of the checkout"
    done = subprocess.run([sys.executable, "-m", "tb_steptime.cli", "summarize", str(logdir)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    server = TensorBoard(logdir)
    try:
        assert server.json_of("data/plugins_listing")["tb_steptime"]["enabled"]
        with urllib.request.urlopen(f"{server.url}{PLUGIN}/index.js", timeout=30) as script:
            size = len(script.read())
    finally:
        server.stop()
    print(f"{home}: summarized, and {size} bytes of its tab are served; {reader_name()} reads")


if __name__ == "__main__":
    check(Path(sys.argv[1]))
