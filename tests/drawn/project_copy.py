"""A copy of the project to build in, whose front end is a stub, with programs named node and npm that do as told."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests import PROJECT

#: What a build reads, except the front end.
CARRIED = ("build_backend", "tb_steptime", "pyproject.toml", "setup.cfg", "setup.py")
CARRIED += ("MANIFEST.in", "LICENSE", "README.md")

BUILDS = """
echo "npm $@" >> ../calls
case "$1" in
    ci) mkdir -p node_modules ;;
    run)
        mkdir -p ../tb_steptime/static/parts
        cat src/index.ts > ../tb_steptime/static/index.js
        cat src/index.ts > ../tb_steptime/static/parts/host-0123.js
        cat src/index.ts > ../tb_steptime/static/report.js ;;
esac"""

#: The result of a hook on one line: a file's name, or requirements.
SAID = "said if isinstance(said, str) else ' '.join(said)"


class Copy:
    """A copy of the project to build in. On its PATH are a few shell tools, and node and npm where a test puts them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.programs = folder / "programs"
        self.programs.mkdir()
        for tool in ("sh", "cat", "mkdir"):
            (self.programs / tool).symlink_to(str(shutil.which(tool)))
        ignore = shutil.ignore_patterns("__pycache__", "static", "*.egg-info", "*.so")
        for name in CARRIED:
            source = PROJECT / name
            if source.is_dir():
                shutil.copytree(source, self.root / name, ignore=ignore)
            else:
                shutil.copy(source, self.root / name)
        self.write("frontend/package-lock.json", "{}")
        self.write("frontend/src/index.ts", "export function render() {}\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def has_node(self, version: str = "v22.12.0", npm: str = BUILDS) -> None:
        for name, script in {"node": f"echo {version}", "npm": npm}.items():
            program = self.programs / name
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def has_no_node(self) -> None:
        for name in ("node", "npm"):
            (self.programs / name).unlink(missing_ok=True)

    def npm_calls(self) -> list[str]:
        """The calls of npm since the last query, without the options."""
        calls = self.root / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return [" ".join(word for word in call.split() if not word.startswith("--")) for call in lines]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run this Python in the copy, with the copy's PATH and without any package index. What Python compiles is not
        kept in the copy, whose files are counted; where `make test` keeps it, pip and setuptools are compiled once."""
        environment = {**os.environ, "PATH": str(self.programs), "PIP_NO_INDEX": "1"}
        if not sys.pycache_prefix:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment.pop("PYTHONPATH", None)
        return subprocess.run(
            [sys.executable, *command], cwd=self.root, env=environment, capture_output=True, text=True
        )

    def hook(self, call: str) -> str:
        """Call a hook of the backend as pip does; returns its result, or raises SystemExit with its output."""
        return self.output_of(f"hooks.{call}")

    def output_of(self, expression: str) -> str:
        """The value of an expression in `hooks`, as `hook` returns it."""
        done = self.run("-c", f"from build_backend import hooks; said = {expression}; print(); print({SAID})")
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        return done.stdout.splitlines()[-1]

    def build(self) -> None:
        done = self.run("-m", "build_backend.bundle")
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())

    @property
    def bundle(self) -> str:
        return (self.root / "tb_steptime/static/index.js").read_text()
