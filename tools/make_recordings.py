"""Records again what tests replay: a few small files for each way to set up a DataLoader. Needs torch and torchdata.

python -m tools.make_recordings              # all of them
python -m tools.make_recordings spawn lines  # some
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from benchmarks.lines import record
from tb_steptime.record import LoaderRecorder
from tb_steptime.record.file.format import LOADER
from tests.drawn.recorded import Stamped
from tests.recordings import FOLDER


class Uneven(Stamped):
    """The batches of the first worker take longer."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02 if index % 8 < 4 else 0)
        return super().__getitem__(index)


#: Settings of loaders with two workers that are iterated over twice.
LOADERS: dict[str, dict[str, Any]] = {
    "no_workers": {"num_workers": 0},
    "fork": {"multiprocessing_context": "fork"},
    "spawn": {"multiprocessing_context": "spawn"},
    "forkserver": {"multiprocessing_context": "forkserver"},
    "spawn_persistent": {"multiprocessing_context": "spawn", "persistent_workers": True},
    "out_of_order": {"in_order": False},
    "stateful_spawn": {"multiprocessing_context": "spawn"},
    "stateful_forkserver": {"multiprocessing_context": "forkserver"},
}


def record_loader(folder: Path, name: str) -> dict[str, Any]:
    settings = {"num_workers": 2, **LOADERS[name]}
    make = StatefulDataLoader if name.startswith("stateful") else DataLoader
    dataset = (Uneven if name == "out_of_order" else Stamped)(16)
    with LoaderRecorder(folder) as recorder:
        loader = recorder.watch(make(dataset, 4, **settings))
        passes = [[batch.tolist() for batch in loader] for _ in range(2)]
        del loader
        gc.collect()  # workers end with their iterator
    return {"settings": settings, "passes": passes}


def record_killed_worker(folder: Path, name: str) -> dict[str, Any]:
    """The first worker is killed after three batches."""
    with LoaderRecorder(folder, lines=False) as recorder:
        iterator = iter(recorder.watch(DataLoader(Stamped(400, 5), 4, num_workers=2)))
        taken = [next(iterator).tolist() for _ in range(3)]
        killed = iterator._workers[0].pid
        time.sleep(0.5)
        os.kill(killed, signal.SIGKILL)
        with contextlib.suppress(RuntimeError):
            for batch in iterator:
                taken.append(batch.tolist())
        del iterator
        gc.collect()
    return {"killed": killed, "passes": [taken]}


def record_lines(folder: Path, name: str) -> dict[str, Any]:
    shares = record(folder, batches=75, workers=1, scale=16)
    for path in folder.glob("*.main.loader"):  # only workers are sampled
        path.unlink()
    return {"shares": shares}


RECORDERS: dict[str, Callable[[Path, str], dict[str, Any]]] = {
    **dict.fromkeys(LOADERS, record_loader),
    "killed_worker": record_killed_worker,
    "lines": record_lines,
}


def forget_machine(path: Path) -> None:
    """The machine's name is in the header of the file and at the beginning of its name."""
    content = path.read_bytes()
    header = LOADER.decode_header(content)
    name = path.name.replace(header["host"], "demo", 1)
    path.write_bytes(LOADER.encode_header({**header, "host": ""}) + content[LOADER.rows_begin(content) :])
    path.rename(path.with_name(name))


def main(names: list[str]) -> None:
    for name in names or list(RECORDERS):
        with tempfile.TemporaryDirectory() as temporary:
            made = Path(temporary) / name
            known = RECORDERS[name](made, name)
            for path in list(made.glob("*.loader")):
                forget_machine(path)
            (made / "truth.json").write_text(json.dumps(known, separators=(",", ":")) + "\n")
            shutil.rmtree(FOLDER / name, ignore_errors=True)
            shutil.copytree(made, FOLDER / name)
        print(f"{name}: {sum(path.stat().st_size for path in (FOLDER / name).iterdir())} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
