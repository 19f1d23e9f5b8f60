"""Is the tab's bundle reproducible? Builds it twice from the last commit, in folders of different names, and compares.

    python -m tools.reproducible    prints a digest of all files, or the files that differ

Whoever doubts a released bundle can build its tag and compare the digest: `python -m tools.reproducible FOLDER` prints
that of a folder, such as `tb_steptime/static` of an unpacked wheel.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATIC = Path("tb_steptime", "static")


def digests(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file below the folder, by its path there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def digest(folder: Path) -> str:
    """Returns one SHA-256 over the names and contents of all files below the folder."""
    lines = "".join(f"{each}  {name}\n" for name, each in digests(folder).items())
    return hashlib.sha256(lines.encode()).hexdigest()


def differing(first: Path, second: Path) -> list[str]:
    """Returns the paths of files that are not the same below both folders, or are below one alone."""
    one, other = digests(first), digests(second)
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def built(folder: Path) -> Path:
    """Builds the bundle of the last commit in a new folder, and returns the bundle's."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)], check=True)
    subprocess.run([sys.executable, "-m", "build_backend.bundle"], cwd=folder, check=True)
    return folder / STATIC


def main(arguments: list[str]) -> int:
    if arguments:
        print(digest(Path(arguments[0])))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        first, second = built(Path(folder, "a")), built(Path(folder, "another place"))
        if names := differing(first, second):
            print("These files of the bundle differ from build to build:", *names, sep="\n  ", file=sys.stderr)
            return 1
        print(digest(first))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
