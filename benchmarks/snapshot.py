"""How long a memory snapshot takes to read, and how much memory: `python -m benchmarks.snapshot [FILE …]`.

A snapshot of this size is drawn as torch pickles it: entries refer to frames and names that were written before, and
steps are alike, so that stacks repeat; --own-stacks gives each entry a stack that no other has, the worst case.
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
from collections.abc import Iterator, Mapping
from pathlib import Path

from tb_steptime.metrics.memory.fit.predictions import size_of
from tb_steptime.snapshots.model import usage
from tb_steptime.snapshots.reading import read_snapshot

#: As in snapshots of one step of a transformer: the number of frames, and how many there are in a stack.
FRAMES, DEPTH = 600, 52
#: The number of stacks of a training whose steps are alike.
STACKS = 5_000
#: Blocks in use at a time, which are allocated and freed in turn.
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


class Drawn:
    """The opcodes that Python's pickle writes in protocol 4: each container and each new text is memoized, and later
    referred to.
    """

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.count = 0

    def remembered(self) -> bytes:
        """The reference to what was written last."""
        self.count += 1
        return reference(self.count - 1)

    def text(self, value: str) -> bytes:
        if value in self.texts:
            return self.texts[value]
        self.texts[value] = self.remembered()
        return b"\x8c" + bytes([len(value)]) + value.encode() + b"\x94"

    def opened(self, container: bytes) -> bytes:
        self.remembered()
        return container + b"\x94("

    def record(self, items: Mapping[str, str | int], frames: bytes = b"") -> bytes:
        said = [self.opened(b"}")]
        for key, value in items.items():
            said += [self.text(key), self.text(value) if isinstance(value, str) else number(value)]
        if frames:
            said += [self.text("frames"), self.opened(b"]"), frames, b"e"]
        return b"".join([*said, b"u"])


def reference(place: int) -> bytes:
    return b"h" + bytes([place]) if place < 256 else b"j" + struct.pack("<I", place)


def number(value: int) -> bytes:
    if value < 256:
        return b"K" + bytes([value])
    return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)


def pieces(size: int, stacks: int) -> Iterator[bytes]:
    """Yields a pickle of at least this size, in which blocks are allocated and freed in turn. stacks: 0 gives each
    entry its own.
    """
    drawn, chance = Drawn(), random.Random(0)
    yield b"\x80\x04" + drawn.opened(b"}") + drawn.text("frames") + drawn.opened(b"]")
    frames = []
    for place in range(FRAMES):
        frames.append(reference(drawn.count))
        yield drawn.record({"name": f"f{place}", "filename": f"model_{place % 200}.py", "line": place})

    yield b"e" + drawn.text("segments") + b"]" + drawn.text("device_traces") + b"](]("

    def stack() -> bytes:
        return b"".join(chance.choices(frames, k=DEPTH))

    known = [stack() for _ in range(stacks)]
    written, place = 0, 0
    while written < size:
        said = drawn.record(
            {
                "action": "alloc" if place // LIVE % 2 == 0 else "free_completed",
                "addr": (1 << 40) + place % LIVE * 4096,
                "size": 2048,
                "stream": 0,
                "time_us": (1 << 50) + place,
            },
            known[place % stacks] if stacks else stack(),
        )
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
    parser.add_argument("--own-stacks", action="store_true")
    options = parser.parse_args(arguments)
    for path in options.files:
        reserved_at_peak(path)
    if options.files:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.pickle"
        with path.open("wb") as file:
            file.writelines(pieces(options.size, 0 if options.own_stacks else STACKS))
        print(f"{path.stat().st_size / 1e9:.2f} GB: ", end="", flush=True)
        subprocess.run([sys.executable, "-c", READ, str(path)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
