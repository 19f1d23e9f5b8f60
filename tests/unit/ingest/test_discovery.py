"""From a log directory to spans, by the names and the first bytes of files."""

import os
import time

import pytest

from tb_steptime.ingest import discovery, listing
from tb_steptime.ingest.discovery import MAX_PROBLEMS, Discovery, find_spans
from tb_steptime.ingest.found import spans_of_files
from tb_steptime.ingest.names import Place, parse_places
from tb_steptime.trace.file_names import rank_in_name
from tb_steptime.trace.reading import read_trace
from tests.drawn.pftrace import backend_trace, converted_trace, message, packed, packet
from tests.drawn.small_trace import small_trace, write_trace


def look(*roots, names=()):
    """What is found in these folders: (run, worker, number, file) in the order of the pickers, and the whole result."""
    places = [Place(name, root, str(root)) for name, root in zip(names or [""] * len(roots), roots, strict=True)]
    found = Discovery(places).scan()
    return [(span.run, span.worker, span.number, span.file) for span in found.spans], found


def touch(path, content="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_a_name_says_run_worker_and_time(tmp_path):
    for name in (
        "host.900.pt.trace.json",
        "host.1000.pt.trace.json.gz",
        "a.b_12.7.pt.trace.json",
        "bare.pt.trace.json",
    ):
        touch(tmp_path / "resnet" / "lr1" / name)
    spans, found = look(tmp_path)
    assert spans == [
        ("resnet/lr1", "a.b_12", 1, "resnet/lr1/a.b_12.7.pt.trace.json"),
        ("resnet/lr1", "bare", 1, "resnet/lr1/bare.pt.trace.json"),
        ("resnet/lr1", "host", 1, "resnet/lr1/host.900.pt.trace.json"),
        ("resnet/lr1", "host", 2, "resnet/lr1/host.1000.pt.trace.json.gz"),
    ]
    assert (found.folders, found.problems) == (2, ())


def test_the_log_directory_itself_may_be_the_run(tmp_path):
    touch(tmp_path / "host.1.pt.trace.json")
    assert look(tmp_path)[0] == [(".", "host", 1, "host.1.pt.trace.json")]


def test_ranks_of_torchtitan_are_workers_and_its_iterations_spans(tmp_path):
    for iteration in (20, 100):
        for rank in (0, 2, 10):
            touch(tmp_path / "job" / f"iteration_{iteration}" / f"rank{rank}_trace.json.gz")
    assert [span[:3] for span in look(tmp_path)[0]] == [
        ("job", worker, number) for worker in ("rank0", "rank2", "rank10") for number in (1, 2)
    ]


def test_a_run_that_is_the_log_directory_is_called_as_that_is(tmp_path):
    """It is not named after the folder of an iteration, which is only a part of the run."""
    for iteration in (20, 40):
        touch(tmp_path / "traces" / f"iteration_{iteration}" / "rank3_trace.json.gz")
    found = list(find_spans([tmp_path / "traces"], []))
    assert [(span.run, span.number, span.folder) for span in found] == [(".", 1, "traces"), (".", 2, "traces")]


@pytest.mark.parametrize(
    ("file", "run", "worker", "rank"),
    [
        ("job/iteration_20/rank3_trace.json.gz", "job", "rank3", 3),
        ("job/iteration_20/rank3_trace.pftrace.gz", "job", "rank3", 3),
        ("job/iteration_20/rank-3.json", "job", "rank-3", 3),
        ("job/iteration_20/host.7.pt.trace.json", "job/iteration_20", "host", None),
        ("n/train_rank3.nsys-rep.json", "n", "train_rank3", 3),
        ("n/worker_process_17.2.nsys-rep.json.gz", "n", "worker_process_17", None),
        ("n/rank_3/report2.sqlite.json", "n", "rank_3", 3),
        ("n/rank_3/train.1.nsys-rep.json", "n", "rank_3.train", 3),
        ("n/iteration_5/rank3/report1.nsys-rep.json", "n/iteration_5", "rank3", 3),
        ("n/iteration_5/train_rank3.nsys-rep.json", "n", "train_rank3", 3),
        ("n/other/report1.nsys-rep.json", "n/other", "report1", None),
        ("s/1782843274.7730265-TP-0-DECODE.trace.json.gz", "s/decode", "TP-0", 0),
        ("s/1782843274.7730265-TP-2-EXTEND.trace.json.gz", "s/extend", "TP-2", 2),
        ("s/1782843274.7730265-TP-5-DP-1-EP-5.trace.json.gz", "s", "TP-5-DP-1-EP-5", 5),
        ("s/1782843274.7730265-TP-1-PP-1.trace.json.gz", "s", "TP-1-PP-1", None),
        ("s/1782843274.7730265-TP-1-PP-0-DECODE.trace.json.gz", "s/decode", "TP-1-PP-0", 1),
        ("s/long-1782843274.7730265-TP-0-DECODE.trace.json.gz", "s/long/decode", "TP-0", 0),
        ("s/mine-TP-0.trace.json.gz", "s/mine", "TP-0", 0),
        ("v/dp0_pp0_tp1_dcp0_ep1_rank1.1764457406622309595.pt.trace.json.gz", "v", "dp0_pp0_tp1_dcp0_ep1_rank1", 1),
        ("v/dp1_pp0_tp1_dcp0_ep1_rank1.1764457406622309595.pt.trace.json.gz", "v", "dp1_pp0_tp1_dcp0_ep1_rank1", None),
        ("v/3f2a-rank-4.1764457406622309595.pt.trace.json.gz", "v", "3f2a-rank-4", 4),
        ("p/primus-megatron-exp[llama2]-rank[3].17.pt.trace.json.gz", "p", "primus-megatron-exp[llama2]-rank[3]", 3),
        ("m/megatron_kineto_6.json.gz", "m", "megatron_kineto_6", 6),
        ("m/torch_profile/rank-7.json.gz", "m/torch_profile", "rank-7", 7),
        ("t/trace-rank-2.json", "t", "trace-rank-2", 2),
        ("x/mine.trace.json", "x", "mine", None),
        ("x/mine.pftrace", "x", "mine", None),
        ("x/host_12.900.pt.trace.pftrace.gz", "x", "host_12", None),
    ],
)
def test_names_of_jobs_and_servers_say_run_worker_and_rank(tmp_path, file, run, worker, rank):
    write_trace(tmp_path / file)
    assert look(tmp_path)[0] == [(run, worker, 1, file)]
    assert rank_in_name(worker) == rank


def test_prefill_and_decode_of_a_server_are_runs_of_the_same_workers_in_the_order_of_their_times(tmp_path):
    for time_s in ("1782843274.7730265", "1782843999.5"):
        for stage in ("DECODE", "EXTEND"):
            for rank in (0, 1):
                write_trace(tmp_path / f"{time_s}-TP-{rank}-{stage}.trace.json.gz")
    spans, found = look(tmp_path)
    assert found.spans[0].time == pytest.approx(1_782_843_274_773_026_500, abs=1_000), "ns since 1970"
    assert [span[:3] for span in spans] == [
        (run, worker, number) for run in ("decode", "extend") for worker in ("TP-0", "TP-1") for number in (1, 2)
    ]


def test_pftraces_are_found_by_what_they_hold(tmp_path):
    (tmp_path / "mine.pftrace").write_bytes(backend_trace(small_trace()))
    (tmp_path / "converted.pftrace.gz").write_bytes(packed(converted_trace(small_trace())))
    (tmp_path / "browser.pftrace").write_bytes(packet(f8=5, f10=1, f11=message(f9=1, f11=1, f22="toplevel")))
    (tmp_path / "rank0.pickle").write_bytes(b"\x80\x04N.")
    (tmp_path / "notes.pftrace").write_text("no trace")
    assert look(tmp_path)[0] == [
        (".", "converted", 1, "converted.pftrace.gz"),
        (".", "mine", 1, "mine.pftrace"),
    ]


def test_a_rank_that_is_not_that_of_the_name_is_said(tmp_path):
    noted = {
        rank: [note.id for note in read_trace(write_trace(tmp_path / "rank3_trace.json", rank=rank)).notes]
        for rank in (None, 3, 5)
    }
    assert noted == {None: [], 3: [], 5: ["rank-in-name"]}


def test_other_json_is_a_span_when_its_head_looks_like_a_trace(tmp_path):
    write_trace(tmp_path / "mine.json.gz")
    touch(tmp_path / "package.json", '{"name": "x", "version": "1"}')
    touch(tmp_path / "rows.json", "[1, 2, 3]")
    assert look(tmp_path)[0] == [(".", "mine", 1, "mine.json.gz")]


def test_a_file_is_opened_to_look_at_it_only_once(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(listing, "looks_like_trace", lambda path: opened.append(path) or True)
    touch(tmp_path / "mine.json")
    found = Discovery([Place("", tmp_path, "x")])
    assert [len(found.scan().spans) for _ in range(3)] == [1, 1, 1]
    assert len(opened) == 1
    touch(tmp_path / "mine.json", '{"more": 1}')
    found.scan()
    assert len(opened) == 2


def test_a_summary_without_its_trace_is_a_span(tmp_path):
    touch(tmp_path / "r" / "host.1.pt.trace.json.gz.steptime")
    touch(tmp_path / "r" / "odd name.json.steptime")
    spans, found = look(tmp_path)
    assert spans == [("r", "host", 1, "r/host.1.pt.trace.json.gz"), ("r", "odd name", 1, "r/odd name.json")]
    assert all(span.trace is None and span.summary is not None for span in found.spans)


def test_ids_are_those_of_the_same_file_elsewhere(tmp_path):
    for root in ("here", "there"):
        touch(tmp_path / root / "r" / "a.1.pt.trace.json")
        touch(tmp_path / root / "r" / "a.2.pt.trace.json")
    (_, here), (_, there) = look(tmp_path / "here"), look(tmp_path / "there")
    (tmp_path / "here" / "r" / "a.1.pt.trace.json").rename(tmp_path / "here" / "r" / "a.1.pt.trace.json.steptime")
    _, summary_only = look(tmp_path / "here")
    ids = [span.id for span in here.spans]
    assert ids == [span.id for span in there.spans] == [span.id for span in summary_only.spans]
    assert len(set(ids)) == 2
    assert not any("a.1" in id or "/" in id for id in ids)


def test_named_places_keep_same_runs_apart(tmp_path):
    for root in ("x", "y"):
        touch(tmp_path / root / "r" / "a.1.pt.trace.json")
    spans, found = look(tmp_path / "x", tmp_path / "y", names=("base", "new"))
    assert [span[0] for span in spans] == ["base/r", "new/r"]
    assert len({span.id for span in found.spans}) == 2


def test_links_stay_inside(tmp_path):
    touch(tmp_path / "outside" / "a.1.pt.trace.json")
    touch(tmp_path / "logs" / "real" / "b.1.pt.trace.json")
    (tmp_path / "logs" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "logs" / "out.1.pt.trace.json").symlink_to(tmp_path / "outside" / "a.1.pt.trace.json")
    (tmp_path / "logs" / "loop").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "gone").symlink_to(tmp_path / "nowhere")
    spans, found = look(tmp_path / "logs")
    assert spans == [("real", "b", 1, "real/b.1.pt.trace.json")]
    assert sorted(problem.file for problem in found.problems) == ["out", "out.1.pt.trace.json"]
    assert all("leads outside" in problem.problem for problem in found.problems)


@pytest.mark.parametrize("more", [0, 1, 39])
def test_problems_beyond_those_listed_are_counted(tmp_path, more):
    touch(tmp_path / "outside" / "a.1.pt.trace.json")
    (tmp_path / "logs").mkdir()
    for number in range(MAX_PROBLEMS + more):
        (tmp_path / "logs" / f"{number}.1.pt.trace.json").symlink_to(tmp_path / "outside" / "a.1.pt.trace.json")
    _, found = look(tmp_path / "logs")
    assert len({problem.file for problem in found.problems[:MAX_PROBLEMS]}) == MAX_PROBLEMS
    last = [problem.problem for problem in found.problems[MAX_PROBLEMS:]]
    assert last == [f"Of folders and files, {more} more could not be used"][: min(more, 1)]


def test_names_that_are_no_text_are_left_out_and_the_others_found(tmp_path):
    touch(tmp_path / "a" / "a.1.pt.trace.json")
    for name in (b"\xff.1.pt.trace.json", b"\xfe.txt", b"\x1b]0;title\x07.1.pt.trace.json"):
        os.close(os.open(os.fsencode(tmp_path / "a") + b"/" + name, os.O_CREAT))
    os.mkdir(os.fsencode(tmp_path) + b"/b\xff")
    spans, found = look(tmp_path)
    assert [span[0] for span in spans] == ["a"]
    assert [(problem.file, problem.problem) for problem in found.problems] == [
        ("b\ufffd", "The name is not plain UTF-8 text, so it is left out"),
        ("a/\ufffd.1.pt.trace.json", "The name is not plain UTF-8 text, so it is left out"),
        ("a/\ufffd]0;title\ufffd.1.pt.trace.json", "The name is not plain UTF-8 text, so it is left out"),
    ]


def test_a_linked_log_directory_is_searched(tmp_path):
    touch(tmp_path / "store" / "r" / "a.1.pt.trace.json")
    (tmp_path / "logs").symlink_to(tmp_path / "store")
    assert look(tmp_path / "logs")[0] == [("r", "a", 1, "r/a.1.pt.trace.json")]


def test_hidden_folders_are_passed_by(tmp_path):
    touch(tmp_path / ".cache" / "a.1.pt.trace.json")
    touch(tmp_path / ".b.1.pt.trace.json")
    assert look(tmp_path)[0] == []


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_folder_that_may_not_be_read_is_a_problem(tmp_path):
    touch(tmp_path / "shut" / "a.1.pt.trace.json")
    touch(tmp_path / "open" / "a.1.pt.trace.json")
    (tmp_path / "shut").chmod(0)
    try:
        spans, found = look(tmp_path)
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert [span[0] for span in spans] == ["open"]
    assert [(problem.file, problem.problem) for problem in found.problems] == [
        ("shut/", "The folder cannot be read: Permission denied")
    ]


def test_a_folder_that_fails_is_a_problem(tmp_path, monkeypatch):
    touch(tmp_path / "open" / "a.1.pt.trace.json")
    (tmp_path / "shut").mkdir()
    listing = os.scandir

    def scandir(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    spans, found = look(tmp_path)
    assert [span[0] for span in spans] == ["open"]
    assert [(problem.file, problem.problem) for problem in found.problems] == [
        ("shut/", "The folder cannot be read: Permission denied")
    ]
    assert "chmod u+rx" in found.problems[0].hint


def test_a_log_directory_may_come_later(tmp_path):
    spans, found = look(tmp_path / "later")
    assert spans == []
    assert [problem.problem for problem in found.problems] == ["The folder cannot be read: No such file or directory"]


def test_a_huge_tree_is_cut_with_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(discovery, "MAX_FOLDERS", 5)
    for number in range(20):
        touch(tmp_path / f"r{number:02}" / "a.1.pt.trace.json")
    spans, found = look(tmp_path)
    assert [span[0] for span in spans] == [f"r{number:02}" for number in range(5)]
    assert [problem.problem for problem in found.problems] == ["The search stopped after 5 folders and 5 traces"]


def test_a_data_set_of_json_files_is_not_opened_file_by_file(tmp_path, monkeypatch):
    monkeypatch.setattr(discovery, "MAX_OPENED", 3)
    opened = []
    monkeypatch.setattr(listing, "looks_like_trace", lambda path: opened.append(path) is not None)
    for number in range(10):
        touch(tmp_path / f"{number}.json")
    _, found = look(tmp_path)
    assert len(opened) == 3
    assert [problem.problem for problem in found.problems] == [
        "More than 3 files whose names do not say whether they are traces"
    ]


def test_a_thousand_folders_take_less_than_a_second(tmp_path):
    """The fastest of ten scans counts: the machine may have other work."""
    for number in range(1000):
        (tmp_path / f"{number // 100}" / f"{number}").mkdir(parents=True)
    took = []
    for _ in range(10):
        began = time.process_time()
        look(tmp_path)
        took.append(time.process_time() - began)
    assert min(took) < 1.0


@pytest.mark.parametrize(
    ("worker", "rank"),
    [("rank0", 0), ("rank-34.Jul_15", 34), ("node1_rank_3", 3), ("Rank 7", 7), ("host_123", None), ("frank3", None)],
)
def test_a_name_may_tell_the_rank(worker, rank):
    assert rank_in_name(worker) == rank


@pytest.mark.parametrize(
    ("logdir", "spec", "places"),
    [
        ("logs", "", [("", "logs")]),
        ("", "", []),
        ("", "a:x/y,b:z", [("a", "x/y"), ("b", "z")]),
        ("", "x/y,z", [("x/y", "x/y"), ("z", "z")]),
        ("", "gs://bucket/x", [("gs://bucket/x", "gs://bucket/x")]),
        ("", "a:/abs/o:lute", [("a", "/abs/o:lute")]),
        ("", "/abs/with:colon", [("/abs/with:colon", "/abs/with:colon")]),
    ],
)
def test_places_are_parsed_as_tensorboard_does(logdir, spec, places):
    assert [(place.name, place.shown) for place in parse_places(logdir, spec)] == places


def test_named_files_are_spans_whatever_their_name(tmp_path):
    files = [tmp_path / "r" / name for name in ("a.20.pt.trace.json", "a.9.pt.trace.json.steptime", "notes.txt")]
    assert [(span.run, span.worker, span.number, span.trace is None) for span in spans_of_files(files)] == [
        ("r", "a", 2, False),
        ("r", "a", 1, True),
        ("r", "notes.txt", 1, False),
    ]
