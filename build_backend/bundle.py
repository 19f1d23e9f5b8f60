"""The tab's bundle, `tb_steptime/static/`: is it that of the sources in `frontend/`, and if not, build it.

Sources are compared by content, never by time: a checkout, an unpacked sdist and a copy all have new times. The hash
of the sources is written into the bundle, so that an sdist which carries both needs neither Node nor npm.

    python -m build_backend.bundle            build the bundle where it is missing or stale
    python -m build_backend.bundle run NAME   run a script of frontend/package.json, with its packages installed
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from build_backend.node import NODE_WHEEL, Node, find_node

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
STATIC = ROOT / "tb_steptime" / "static"
#: What TensorBoard imports, with its parts in a folder beside it; and the program of a report.
ENTRY, REPORT = STATIC / "index.js", STATIC / "report.js"
BUILT_FROM = STATIC / "sources.sha256"
PACKAGES = FRONTEND / "node_modules"
INSTALLED_FROM = PACKAGES / ".installed-from.sha256"

#: Folders of the front end that do not go into the bundle; names that open with a dot are left out too.
NOT_BUNDLED = {"node_modules", "dist", "coverage", "dev", "test"}

#: npm's own patience is minutes. One retry bridges a hiccup, and a missing registry is told in seconds.
NPM_CI = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-maxtimeout=5000"]
NPM_CI += ["--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]

#: Lines of npm's output that an error quotes; the cause stands in its last ones.
QUOTED_LINES = 12


class BundleError(Exception):
    """The bundle cannot be built. The text is for the person who installs: what, why, way out."""


def is_fresh() -> bool:
    """Whether the bundle is there and was built from the sources that lie beside it."""
    return (
        ENTRY.is_file()
        and REPORT.is_file()
        and BUILT_FROM.is_file()
        and BUILT_FROM.read_text().strip() == sources_hash()
    )


def build_if_stale() -> None:
    """Make the bundle fit the sources.

    Raises BundleError where that needs Node or packages that cannot be had, or where the sources do not compile.
    """
    if is_fresh():
        return
    node = required_node()
    install_packages(node)
    run(node, ["run", "build"], "The front end does not compile.", "Mend the error above and install again.")
    for file in (ENTRY, REPORT):
        if not file.is_file():
            raise BundleError(f"`npm run build` in frontend/ ended well but did not write {file.relative_to(ROOT)}.")
    BUILT_FROM.write_text(sources_hash() + "\n")


def install_packages(node: Node) -> None:
    """Install the front end's packages as its lock file names them; nothing where they are installed already."""
    wanted = packages_hash()
    if INSTALLED_FROM.is_file() and INSTALLED_FROM.read_text().strip() == wanted:
        return
    run(
        node,
        NPM_CI,
        "The packages of the front end could not be installed from the npm registry.",
        "Check the network, or name a registry that can be reached (`npm config set registry ADDRESS`); "
        "or install a wheel or an sdist of tb-steptime, which carry the built tab and need neither Node nor npm.",
    )
    INSTALLED_FROM.write_text(wanted + "\n")


def required_node() -> Node:
    """The Node to build with; BundleError where there is none, or nothing to build."""
    if not (FRONTEND / "package-lock.json").is_file():
        raise BundleError(
            "The tab's bundle (tb_steptime/static) is missing and so are its sources (frontend/). "
            "This copy of the project is incomplete: install from a clone, an sdist or a wheel."
        )
    node = find_node()
    if node is None:
        raise BundleError(
            "The tab's bundle (tb_steptime/static) is missing or older than its sources in frontend/, and building it "
            "needs Node 20.19 or later, which is not on PATH. Install Node from nodejs.org or your system's packages; "
            f"or `pip install '{NODE_WHEEL}'` into this environment; or install a wheel or an sdist of tb-steptime, "
            "which carry the built tab."
        )
    return node


def run(node: Node, arguments: list[str], problem: str, way_out: str) -> None:
    """Run npm in frontend/; where it fails raise a BundleError that quotes the end of what it said."""
    done = node.run_npm(arguments, FRONTEND, capture=True)
    if done.returncode != 0:
        said = "\n".join(f"    {line}" for line in done.stdout.strip().splitlines()[-QUOTED_LINES:])
        command = " ".join(["npm", *arguments[:2]]) if arguments[0] == "run" else "npm ci"
        raise BundleError(f"{said}\n\n{problem} `{command}` in frontend/ failed with code {done.returncode}. {way_out}")


def sources_hash() -> str:
    """SHA-256 over names and contents of the front end's sources."""
    return hash_of(source_files())


def packages_hash() -> str:
    """SHA-256 of the file that says which packages are installed."""
    return hash_of(iter([FRONTEND / "package-lock.json"]))


def hash_of(paths: Iterator[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes().replace(b"\r\n", b"\n")  # git may check out text with other line ends
        digest.update(f"{path.relative_to(FRONTEND).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def source_files() -> Iterator[Path]:
    """The files that the bundle is made of, in an order that every file system agrees on."""
    for folder, names, files in os.walk(FRONTEND):
        names[:] = sorted(name for name in names if name not in NOT_BUNDLED and not name.startswith("."))
        for name in sorted(files):
            if not name.startswith(".") and not name.endswith((".tsbuildinfo", ".log")):
                yield Path(folder, name)


def run_script(name: str) -> int:
    """Run a script of the front end before the user's eyes; its exit code."""
    node = required_node()
    install_packages(node)
    return node.run_npm(["run", "--silent", name], FRONTEND, capture=False).returncode


def main(arguments: list[str]) -> int:
    """Entry of `python -m build_backend.bundle`: the exit code, and the error's text where the bundle fails."""
    try:
        if arguments[:1] == ["run"]:
            return run_script(arguments[1])
        build_if_stale()
    except BundleError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
