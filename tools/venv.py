"""Make a virtual environment, or say in one sentence why this machine cannot. Run by any Python that is at hand."""

import subprocess
import sys
from pathlib import Path

OLDEST = (3, 10)


def main(folder: str) -> None:
    if sys.version_info < OLDEST:
        sys.exit(
            f"tb_steptime needs Python {OLDEST[0]}.{OLDEST[1]} or later; {sys.executable} is {sys.version.split()[0]}. "
            "Name another: make PYTHON=python3.12 ..."
        )
    if has_pip(folder):
        return
    made = subprocess.run(
        [sys.executable, "-m", "venv", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if made.returncode != 0 or not has_pip(folder):
        sys.exit(
            f"{made.stdout}\nThis Python cannot make virtual environments with pip. "
            "On Debian and Ubuntu: apt-get install python3-venv"
        )


def has_pip(folder: str) -> bool:
    """Whether a working virtual environment already exists."""
    python = Path(folder, "bin", "python")
    return python.exists() and subprocess.run([str(python), "-c", "import pip"], capture_output=True).returncode == 0


if __name__ == "__main__":
    main(sys.argv[1])
