"""python -m tests.golden.compare OTHER [RUN ...]: the figures that differ from those of another checkout.

Both checkouts answer on copies of the same demo recordings. The output lists, by view and field, the numbers that only
one of the two has. Fields have the names of their own checkout, and a field that was only renamed is no difference.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import PROJECT
from tests.golden.figures import Figure, figures_of

DEMO = PROJECT / "demo_logs"
ANSWERS = Path(__file__).with_name("answers.py")
#: The most numbers printed per field, so that one changed formula does not fill the screen.
SHOWN = 5


def main(other: str, *names: str) -> int:
    runs = names or tuple(sorted(path.name for path in DEMO.iterdir() if path.is_dir()))
    theirs, ours = answers(Path(other), runs), answers(PROJECT, runs)
    lines = [line for run in runs for line in differences(run, theirs[run], ours[run])]
    print("\n".join(lines or [f"No figure differs in {len(runs)} runs."]))  # noqa: T201 - a command
    return 1 if lines else 0


def answers(checkout: Path, runs: tuple[str, ...]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            shutil.copytree(DEMO / run, Path(folder) / "logs" / run, ignore=shutil.ignore_patterns("*.steptime"))
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve()), "XDG_CACHE_HOME": folder}
        command = [sys.executable, str(ANSWERS), f"{folder}/logs"]
        output = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output)


def differences(run: str, theirs: Any, ours: Any) -> Iterator[str]:
    for view in sorted(theirs.keys() | ours.keys()):
        old = figures_of(theirs[view]) if view in theirs else []
        new = figures_of(ours[view]) if view in ours else []
        yield from (f"{run} {view} - {line}" for line in only_in(old, new))
        yield from (f"{run} {view} + {line}" for line in only_in(new, old))


def only_in(these: list[Figure], those: list[Figure]) -> Iterator[str]:
    """For each field, the numbers that are more frequent on the first side than on the other."""
    left = Counter(each.text for each in those)
    fields: dict[str, list[str]] = {}
    for text, path in these:
        if left[text]:
            left[text] -= 1
        else:
            fields.setdefault(path, []).append(text)
    for path, texts in fields.items():
        more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
        yield f"{path}: {', '.join(texts[:SHOWN])}{more}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
