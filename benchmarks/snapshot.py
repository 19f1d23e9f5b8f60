"""How long a memory snapshot takes to read, and how much memory: `python -m benchmarks.snapshot [FILE …]`.

A snapshot of this size is drawn as torch pickles it: each entry has a stack of its own of frames that all share.
Another process reads it, and prints its time and the most of memory that it had. Of files it says instead what the
caching allocator had reserved when most was in use: what is reserved besides is fragments and cache.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tb_steptime.metrics.memory.fit.asked import size_of
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.usage import usage

FRAMES, DEPTH = 20_000, 60
#: Blocks that are in use at a time, by turns allocated and freed.
LIVE = 1000
READ = """
import resource, sys, time
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import summarize_snapshot
began = time.perf_counter()
snapshot = read_snapshot(sys.argv[1])
summarize_snapshot(snapshot)
took, most = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{len(snapshot.entries):,} entries in {took:.1f} s and {most / 1e6:.2f} GB of memory")
"""


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)


def record(*items: tuple[str, bytes]) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in items) + b"u"


def frame(place: int) -> bytes:
    """Remembered under its number."""
    said = record(("filename", text(f"model_{place % 200}.py")), ("line", number(place)), ("name", text(f"f{place}")))
    return said + b"r" + struct.pack("<I", place)


def entry(place: int, chance: random.Random) -> bytes:
    """By turns of an allocation and of a free of a block that is in use."""
    stack = b"".join(b"j" + struct.pack("<I", each) for each in chance.choices(range(FRAMES), k=DEPTH))
    action = "alloc" if place // LIVE % 2 == 0 else "free_completed"
    return record(
        ("action", text(action)), ("addr", number((1 << 40) + place % LIVE * 4096)), ("size", number(2048)),
        ("stream", number(0)), ("time_us", number((1 << 50) + place)), ("frames", b"](" + stack + b"e"),
    )  # fmt: skip


def pieces(size: int) -> Iterator[bytes]:
    """Of a pickle of at least this size."""
    yield b"\x80\x04}(" + text("frames") + b"](" + b"".join(map(frame, range(FRAMES))) + b"e"
    yield text("segments") + b"]" + text("device_traces") + b"](]("
    chance, written, place = random.Random(0), 0, 0
    while written < size:
        said = entry(place, chance)
        written, place = written + len(said), place + 1
        yield said
    yield b"eeu."


def reserved_at_peak(path: str) -> None:
    snapshot = read_snapshot(path)
    for device in snapshot.devices:
        of = usage(snapshot, device)
        most, reserved = int(of.in_use[of.peak]), int(of.reserved[of.peak])
        more = f"{reserved / most - 1:+.1%}" if most else "-"
        print(
            f"{Path(path).name:45} GPU {device}: in use {most / 1e6:9.1f} MB, reserved {reserved / 1e6:9.1f} MB {more}"
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--size", type=size_of, default=size_of("1GB"))
    options = parser.parse_args(arguments)
    for path in options.files:
        reserved_at_peak(path)
    if options.files:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.pickle"
        with path.open("wb") as file:
            file.writelines(pieces(options.size))
        print(f"{path.stat().st_size / 1e9:.2f} GB: ", end="", flush=True)
        subprocess.run([sys.executable, "-c", READ, str(path)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
