"""python -m benchmarks.pftrace [FILE] [--size 100MB]   # how fast, and in how much memory, a `.pftrace` is read

Packets of a recording are repeated with later times until the file is large: as PyTorch's second profiler backend
writes them, plain and packed, and as converters of JSON do. FILE is a recording of either kind that is taken instead.
Each file is read by a process of its own, start-up included, beside JSON of the same recording. Time is of the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isal import igzip

from benchmarks.generate import size_of, write_trace
from tb_steptime.trace.perfetto.recognition import varint
from tests.drawn.pftrace import backend_trace, converted_trace, field, packets_of

_READ = """
import resource, sys
from tb_steptime.trace.reading import read_trace
events = read_trace(sys.argv[1]).event_count
used = resource.getrusage(resource.RUSAGE_SELF)
print(events, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime)
"""
#: Fields of a packet: its time, and the fields that mark an event.
_TIME, _EVENTS = 8, (11, 53)
#: A recording of this much JSON is repeated.
_ONCE_BYTES = 10_000_000


class Large(NamedTuple):
    """A file to read. text_bytes: its uncompressed size."""

    name: str
    path: Path
    text_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pftrace")
    parser.add_argument("file", nargs="?", type=Path, help="a .pftrace whose packets are repeated")
    parser.add_argument("--size", type=size_of, default=size_of("100MB"), help="of the unpacked file")
    asked = parser.parse_args()
    print("| file | unpacked | events | time | MB/s | events/s | memory |\n|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for large in _files(Path(folder), asked.file, asked.size):
            read = subprocess.run([sys.executable, "-c", _READ, large.path], capture_output=True, check=True, text=True)
            events, memory, seconds = map(float, read.stdout.split())
            size = large.text_bytes / 1e6
            print(
                f"| {large.name} | {size:.0f} MB | {events:,.0f} | {seconds:.1f} s | {size / seconds:.1f} | "
                f"{events / seconds:,.0f} | {memory / 1e6:.0f} MB |",
                flush=True,
            )
            large.path.unlink()


def _files(folder: Path, given: Path | None, size: int) -> Iterator[Large]:
    if given:
        yield _repeated(folder / "given.pftrace", given.read_bytes(), size, given.name)
        return
    path = folder / "once.json"
    write_trace(path, _ONCE_BYTES)
    document = json.loads(path.read_bytes())
    backend = backend_trace(document)
    large = _repeated(folder / "backend.pftrace", backend, size, "backend")
    packed = folder / "backend.pftrace.gz"
    with open(large.path, "rb") as plain, igzip.open(packed, "wb", 1) as file:
        while chunk := plain.read(1 << 20):
            file.write(chunk)
    yield large
    yield Large("backend, gzip", packed, large.text_bytes)
    yield _repeated(folder / "converted.pftrace", converted_trace(document), size, "converted")
    write_trace(folder / "same.json", _ONCE_BYTES * size // len(backend))
    yield Large("JSON", folder / "same.json", os.path.getsize(folder / "same.json"))


def _repeated(path: Path, content: bytes, size: int, name: str) -> Large:
    """Packets that name tracks and texts are written once, events repeatedly with later times."""
    parts = [_Part(one) for one in packets_of(content)]
    events = [part for part in parts if part.is_event]
    times = [part.time_ns for part in events]
    span = max(times) - min(times) + 1_000_000
    with open(path, "wb") as file:
        file.write(b"".join(part.later(0) for part in parts if not part.is_event))
        repetition = 0
        while file.tell() < size:
            file.write(b"".join(part.later(repetition * span) for part in events))
            repetition += 1
    return Large(name, path, os.path.getsize(path))


class _Part:
    """A packet whose time can be replaced."""

    def __init__(self, packet: bytes) -> None:
        _, at = varint(packet, 0)
        _, start = varint(packet, at)
        self.time_ns, self.is_event = 0, False
        self._before, self._after = packet[start:], b""
        at = start
        while at < len(packet):
            begin = at
            key, at = varint(packet, at)
            value, at = varint(packet, at)
            at += value if key & 7 == 2 else 0
            self.is_event |= key >> 3 in _EVENTS
            if key == _TIME << 3:
                self.time_ns = value
                self._before, self._after = packet[start:begin], packet[at:]

    def later(self, ns: int) -> bytes:
        return field(1, self._before + field(_TIME, self.time_ns + ns) + self._after)


if __name__ == "__main__":
    main()
