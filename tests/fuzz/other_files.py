"""The other files of a directory that others write to: summaries and the recorder's files, damaged or lying.

Summary files are mutated as bytes and as what they say; whatever the file is, each view of its span is a page, or a
refusal, and no file is written. A recorder's file is mutated as bytes.
"""

from __future__ import annotations

import copy
import json
import os
import random
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tb_steptime.analyses import ANALYSES
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.recorder_files.reading import batches_between, passes_between, read_all, read_line_samples
from tb_steptime.ingest.summaries.layout import member
from tb_steptime.serve.served import SpanFailed, UnknownSpan
from tb_steptime.serve.store import SpanNames, Store
from tb_steptime.serve.wire import encode
from tests import PROJECT
from tests.fuzz.checks import place
from tests.fuzz.mutations import NUMBERS, VALUES, turned

RECORDINGS = PROJECT / "tests" / "recordings"


def damaged_summary(case: int, summary: bytes) -> bytes:
    """One damage or lie of a case's number."""
    draw = random.Random(f"summary {case}")
    if draw.random() < 0.2:
        return draw.choice((turned, _cut))(draw, summary)
    texts = list(_members(summary))
    at = draw.randrange(len(texts))
    content = json.loads(texts[at])
    for _ in range(draw.choice((1, 1, 3))):
        _lie(draw, content)
    views = [text if n != at else _line(content) for n, text in enumerate(texts)]
    packed = [member(view) for view in views[1:]]
    head = json.loads(views[0])
    if at:  # the head of a lie within a view is as it should be
        head["view_bytes"] = dict(zip(head["view_bytes"], map(len, packed), strict=True))
    return b"".join([member(_line(head)), *packed])


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content))]


def _line(content: Any) -> bytes:
    return json.dumps(content).encode("utf-8", "surrogatepass")


def _members(packed: bytes) -> Iterator[bytes]:
    while packed:
        inflate = zlib.decompressobj(wbits=31)
        yield inflate.decompress(packed)
        packed = inflate.unused_data


def _lie(draw: random.Random, content: Any) -> None:
    """Something else in the place of one value, however deep."""
    holder = content
    while True:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        if not keys:
            return
        key = draw.choice(keys)
        if not isinstance(holder[key], dict | list) or draw.random() < 0.2:
            alike = [each for each in (*NUMBERS, *VALUES) if type(each) is type(holder[key])]
            holder[key] = copy.deepcopy(draw.choice(alike if alike and draw.random() < 0.8 else (*NUMBERS, *VALUES)))
            return
        holder = holder[key]


def opened(folder: Path) -> str | None:
    """What is wrong with the answers about a directory whose summaries may be anything; None: nothing."""
    before = _files(folder)
    store = Store([Place("", folder, "logs")])
    try:
        for run in store.index(work=False).runs:
            for span in (each for worker in run.workers for each in worker.spans):
                _ask_all(store, span.id)
        encode(store.trends(SpanNames(), work=False))
    except Exception as error:  # noqa: BLE001 - any of them is a finding
        return place(error)
    finally:
        store.close()
    return None if _files(folder) == before else "files of the directory have changed"


def _ask_all(store: Store, span: str) -> None:
    for view in ANALYSES:
        try:
            encode(store.page(span, view.id, work=False))
            encode(store.ranks.page(span, work=False))
        except (SpanFailed, UnknownSpan):
            pass


def recorded(case: int) -> str | None:
    """What is wrong with how a damaged file of a recorder is read."""
    draw = random.Random(f"recorder {case}")
    source = draw.choice(sorted(RECORDINGS.glob("*/*.loader")))
    content = draw.choice((turned, _cut))(draw, source.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / source.name).write_bytes(content)
        try:
            read, _ = read_all(Path(folder), [source.name])
            batches_between(read, 0, 2**62)
            passes_between(read, 0, 2**62)
            read_line_samples(read)
        except Exception as error:  # noqa: BLE001 - any of them is a finding
            return place(error)
    return None


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(Path(at) / name): (status.st_size, status.st_mtime_ns)
        for at, _, names in os.walk(folder)
        for name in names
        for status in [os.lstat(Path(at) / name)]
    }
