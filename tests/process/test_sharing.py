"""Files that are shared contain no machine, user or path names and nothing of the environment. A directory of
summaries is enough for every view except the timeline."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import re
import runpy
import socket

import msgspec
import pytest

from tb_steptime import cli
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.summaries import SUFFIX
from tb_steptime.serve import bundle

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is needed only to record; it is not installed"
)

#: This word is part of the names of machine, user and folders and of the
#: environment. A file with it must not be shared.
TELLTALE = b"telltale"

#: This module is not below sys.path, like an editable install or the code that torch.compile writes.
OUTSIDE = """
import time, torch

class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        end = time.perf_counter() + 0.004
        while time.perf_counter() < end:
            sum(range(100))
        return torch.rand(8)

def step(net, batch):
    return net(batch).sum().backward()
"""

SCRIPT = """
import importlib.util, os, torch
from tb_steptime.record import profile_steps

spec = importlib.util.spec_from_file_location("outside", os.path.expanduser("~/telltale-lib/job/outside.py"))
outside = importlib.util.module_from_spec(spec)
spec.loader.exec_module(outside)
net = torch.nn.Linear(8, 4)
with profile_steps("logs/run", skip_first=1, wait=0, warmup=1, active=4, repeat=1, shapes=True, stack=True) as prof:
    for batch in prof.watch(torch.utils.data.DataLoader(outside.Images(), 10, num_workers=1)):
        with torch.profiler.record_function(f"from {os.getcwd()}/images"):
            outside.step(net, batch)
        prof.step()
        if prof.profiler is None:
            break
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The log directory of a training in which the user, the machine, the folders
    and the environment have telltale names."""
    home = tmp_path_factory.mktemp("home") / "telltale-user"
    (home / "telltale-lib" / "job").mkdir(parents=True)
    (home / "telltale-lib" / "job" / "outside.py").write_text(OUTSIDE)
    (home / "telltale-job").mkdir()
    (home / "telltale-job" / "train.py").write_text(SCRIPT)
    names = {"HOME": str(home), "USER": "telltale-user", "LOGNAME": "telltale-user", "TOKEN": "telltale-secret"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setenv(name, value)
        patch.setattr(socket, "gethostname", lambda: "telltale-machine")
        patch.chdir(home / "telltale-job")
        runpy.run_path("train.py")
    return home / "telltale-job" / "logs"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def unpacked(path):
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def holds_it(folder, pattern="*"):
    return sorted(path.name for path in folder.rglob(pattern) if path.is_file() and TELLTALE in unpacked(path))


def test_what_is_written_names_neither_user_nor_machine_nor_folder(recorded, tmp_path, capsys):
    assert cli.main(["index", str(recorded)]) == 0
    assert holds_it(recorded, f"*{SUFFIX}") == []
    for kind in ("--scalars", "--csv", "--jsonl"):
        folder = tmp_path / kind.strip("-")
        assert cli.main(["export", str(recorded), kind, "-o", str(folder)]) == 0
        assert holds_it(folder) == []
        assert [str(path) for path in folder.rglob("*") if "telltale" in str(path.relative_to(folder))] == []
    (trace,) = recorded.rglob("*.pt.trace.json.gz")
    process = trace.name.partition(".")[0].rpartition("_")[2]
    assert (tmp_path / "scalars" / "run" / "step_insights" / f"worker_{process}").is_dir()


def test_the_recording_itself_holds_them(recorded):
    """If it did not, the tests above would test nothing. Traces and the recorder's
    files are raw: they are not for sharing."""
    (trace,) = recorded.rglob("*.pt.trace.json.gz")
    text = unpacked(trace)
    assert trace.name.startswith("telltale-machine_")
    assert b"telltale-lib/job/outside.py(" in text
    assert b"telltale-job/images" in text
    assert holds_it(recorded, "*.loader") == sorted(path.name for path in recorded.rglob("*.loader"))
    assert TELLTALE in _results(measure_file(trace, keep_paths=True))
    assert TELLTALE not in _results(measure_file(trace))
    assert b"telltale-secret" not in text


def _results(measured):
    return msgspec.json.encode(measured.results)


def test_whole_paths_are_kept_where_that_is_asked_for_but_in_no_report_or_table(
    recorded, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(bundle, "STATIC", tmp_path)  # the front end is not built in every checkout
    (tmp_path / "report.js").write_bytes(b"// the program")
    for arguments, expected in ((["--keep-paths"], 1), ([], 0)):
        assert cli.main(["index", str(recorded), *arguments]) == 0
        assert len(holds_it(recorded, f"*{SUFFIX}")) == expected
        assert cli.main(["export", str(recorded), "--csv", "-o", str(tmp_path / "tables")]) == 0
        assert holds_it(tmp_path / "tables") == []
        assert cli.main(["report", str(recorded), "-o", str(tmp_path / "report.html")]) == 0
        page = (tmp_path / "report.html").read_text()
        answers = gzip.decompress(base64.b64decode(re.search('id="answers">([^<]*)<', page)[1]))
        assert TELLTALE not in answers + page.encode()
        assert b"outside.py(13): step" in answers
