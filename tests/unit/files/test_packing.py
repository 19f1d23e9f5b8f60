"""Without isal, everything is read and written as it is with isal."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drawn.small_trace import write_trace

_READ = """
import hashlib, io, sys
if "without" in sys.argv:
    sys.modules["isal"] = None  # an import of it fails
from tb_steptime.files import packing
from tb_steptime.trace.kineto.source import Source
from pathlib import Path
source = Source(Path(sys.argv[1]))
text = b"".join(source.chunks())
held = io.BytesIO()
with packing.packing(held) as file:
    file.write(text)
whole = [packing.zlib.decompress(each, 31) == text for each in (packing.pack(text), held.getvalue())]
print(packing.isal_zlib is None, hashlib.sha256(text).hexdigest(), source.cut_short, source.corrupt, *whole)
"""


def read(trace: Path, *how: str) -> list[str]:
    command = [sys.executable, "-c", _READ, str(trace), *how]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def damaged(content: bytes, damage: str) -> bytes:
    match damage:
        case "cut short":
            return content[: len(content) * 2 // 3]
        case "corrupt":
            middle = len(content) // 2
            return content[:middle] + bytes(64) + content[middle + 64 :]
        case _:
            return content


@pytest.mark.parametrize(
    ("damage", "flags"),
    [("none", ["False", "False"]), ("cut short", ["True", "False"]), ("corrupt", ["False", "True"])],
)
def test_text_and_what_is_wrong_with_a_file_are_the_same(damage: str, flags: list[str], tmp_path: Path) -> None:
    plain = write_trace(tmp_path / "plain.json")
    trace = tmp_path / "packed.json.gz"
    trace.write_bytes(damaged(gzip.compress(plain.read_bytes(), mtime=0), damage))
    with_isal, without = read(trace), read(trace, "without")
    assert with_isal == ["False", without[1], *flags, "True", "True"]
    assert without[0] == "True" and without[2:] == [*flags, "True", "True"]
    if damage == "none":
        assert without[1] == hashlib.sha256(plain.read_bytes()).hexdigest()
