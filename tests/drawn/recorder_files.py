"""A recorder's files drawn row by row beside a drawn trace, and what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tb_steptime.ingest.recorder_files import with_records
from tb_steptime.metrics.data_loading.recorded import Recorded, what_is_recorded
from tb_steptime.record.file.format import (
    BEGAN,
    CLOCK,
    ENDED,
    LINES,
    LOADER,
    NAMED,
    NO_BATCH,
    PRODUCED,
    RECEIVED,
    STEPPED,
    encode_rows,
)
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline

US = 1_000


#: When the drawn traces begin, epoch ns, and how far the recorder's own clock is behind.
ORIGIN = 1_700_000_000_000_000_000


BEHIND = 1_690_000_000_000_000_000


#: The process of drawn traces.
PID = 1


class File:
    """One recorder's file; times are in us of the drawing."""

    def __init__(
        self,
        folder: Path,
        process: str,
        *,
        pid: int = PID,
        loader: int = 0,
        start: int = ORIGIN,
        host: str = "host",
        **settings: Any,
    ):
        self.path = folder / f"{host}_{pid}.{start}.l{loader}.{process}.loader"
        worker = None if process == "main" else int(process[1:])
        options = {
            "num_workers": 2,
            "pin_memory": True,
            "persistent_workers": False,
            "prefetch_factor": 2,
        } | settings
        self.header = {
            "process": "main" if worker is None else "worker", "worker": worker, "main_pid": pid, "loader": loader,
            "usable_cores": 4, "settings": options, "recorder_start_ns": start, "host": host,
        }  # fmt: skip
        self.worker = -1 if worker is None else worker
        self.pid = pid if worker is None else 100 + worker
        self.rows: list[bytes] = []
        self._row(CLOCK, 0, NO_BATCH, (0, BEHIND, BEHIND), times=0)

    def produced(
        self, batch: int, start: int, collate: int, end: int, cpu: int = 0, flags: int = 0, core_wait: int = -1
    ) -> File:
        """cpu and core_wait: -1 where the recorder did not measure, or the value is not known."""
        dataset_cpu, collate_cpu = (-1, -1) if cpu < 0 else (cpu * US, 0)
        waited = core_wait * US if core_wait >= 0 else -1
        values = (start, start, collate, end, dataset_cpu, collate_cpu, waited, 4096, 8)
        return self._row(PRODUCED, flags, batch, values, times=4)

    def met(self, at: int, line: str, times: int) -> File:
        """The worker was found on that line this many times in a burst."""
        text = (line.encode() + b"\0").ljust(64, b"\0")
        numbers = tuple(int.from_bytes(text[each : each + 8], "little", signed=True) for each in range(0, 64, 8))
        number = len(self.rows)
        self._row(NAMED, 0, 0, (number, *numbers), times=0)
        return self._row(LINES, 0, NO_BATCH, (at, number, times), times=1)

    def received(self, batch: int, requested: int, there: int, returned: int, ready: int = 0) -> File:
        """`there`: when the thread that pins memory has it."""
        times = (requested - 5, requested, there - 1, there - 1, there, returned)
        return self._row(RECEIVED, 0, batch, (*times, ready), times=6)

    def unpickled(self, batch: int, requested: int, arrived: int, there: int, returned: int) -> File:
        """The training loop itself unpickles the message, which it reads when it has arrived."""
        unpinned, returned_ns = 0, ORIGIN - BEHIND + returned * US
        times = (requested - 5, requested, arrived, there)
        return self._row(RECEIVED, 0, batch, (*times, unpinned, returned_ns, 0), times=4)

    def began(self, at: int, ready: int | None = None) -> File:
        return self._row(BEGAN, 0, NO_BATCH, (at, at if ready is None else ready), times=2)

    def ended(self, at: int, flags: int = 0) -> File:
        return self._row(ENDED, flags, NO_BATCH, (at,), times=1)

    def clock_was_set(self) -> File:
        return self._row(CLOCK, STEPPED, NO_BATCH, (0, BEHIND, BEHIND), times=0)

    def write(self, cut: int = 0) -> File:
        content = LOADER.encode_header(self.header) + b"".join(self.rows)
        self.path.write_bytes(content[: len(content) - cut])
        return self

    def _row(self, kind: int, flags: int, batch: int, values: tuple[int, ...], times: int) -> File:
        own = tuple(ORIGIN - BEHIND + value * US for value in values[:times]) + values[times:]
        self.rows.append(encode_rows([(kind, flags, batch, own)], self.worker, len(self.rows), 0, self.pid))
        return self


#: Two workers that need 14 us per batch, of which 2 collate, and a loop that takes 4 us after each wait.
DRAWN = """
    step   | 1111111222222233333334444444 |
    loader | lll....mmm....nnn....ooo.... |
    op     | ...aaaa...aaaa...aaaa...aaaa |"""


def drawn(folder: Path) -> Trace:
    return replace(timeline(DRAWN), path=str(folder / "host_1.5.pt.trace.json"), origin_ns=ORIGIN)


def write_two_workers(folder: Path, **settings: Any) -> None:
    main = File(folder, "main", **settings).began(-40)
    for batch in range(5):
        main.received(batch, requested=7 * batch, there=7 * batch + 2, returned=7 * batch + 3)
    main.write()
    for worker in (0, 1):
        file = File(folder, f"w{worker}", **settings).began(-40)
        for batch in range(worker, 5, 2):
            end = 7 * batch + 1
            file.produced(batch, end - 14, end - 2, end, cpu=3, core_wait=0)
        file.write()


def recorded(trace: Trace) -> Recorded:
    result = what_is_recorded(with_records(trace)[0])
    assert result is not None
    return result
