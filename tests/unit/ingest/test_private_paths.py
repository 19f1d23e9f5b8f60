"""Full paths in what is passed on: which are found, what replaces them, and that different files stay different."""

import json

import msgspec
import pytest

from tb_steptime.ingest.measure import measure_trace
from tb_steptime.ingest.names import passed_on_workers
from tb_steptime.ingest.private_paths import passed_on, replaced
from tb_steptime.trace.kineto import read_trace
from tests.drawn.small_trace import STEP_US, small_trace, write_trace


def shown(*names: str) -> list[str]:
    """What replaces each of some names, all from one recording."""
    text = json.dumps(names, ensure_ascii=False).encode()
    return json.loads(replaced(text, passed_on([text])))


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("/home/me/job/train.py(54): step", "train.py(54): step"),
        ("/home/me/my job/train.py(54): step", "train.py(54): step"),
        ("/env/lib/python3.11/site-packages/timm/layers.py(3): forward", "timm/layers.py(3): forward"),
        ("/tmp/torchinductor_me/qa/cqaok.py(7): call", "cqaok.py(7): call"),
        (
            "/home/me/my job/net.py(7): forward;/home/me/my job/a.py(5): <module>",
            "net.py(7): forward;a.py(5): <module>",
        ),
        (r"C:\Users\me\my job\train.py(54): step", "train.py(54): step"),
        ("D:/job/train.py(54): step", "train.py(54): step"),
        ("read /data/me/images/train of the set", "read train of the set"),
        ("/home/mé/jöb/träin.py(1): f", "träin.py(1): f"),
        ("train.py(54): step", "train.py(54): step"),
        ("void f<a/b>(int*)/2", "void f<a/b>(int*)/2"),
        ("12 GB/s at https://pytorch.org/docs/stable", "12 GB/s at https://pytorch.org/docs/stable"),
        ("forward/backward and/or 3 / 4", "forward/backward and/or 3 / 4"),
        ("jit(f)/transpose(jvp(main))/dot", "jit(f)/transpose(jvp(main))/dot"),
    ],
)
def test_a_file_is_named_from_its_package_or_working_tree_on(frame, expected):
    assert shown(frame) == [expected]


def test_the_working_tree_begins_at_the_outermost_folder_with_a_file():
    assert shown("/home/me/job/train.py(5): step", "/home/me/job/src/data/sets.py(7): item") == [
        "train.py(5): step",
        "src/data/sets.py(7): item",
    ]


def test_a_folder_of_several_users_is_no_working_tree():
    assert shown("/home/run.py(5): step", "/home/me/data.py(7): item", "/scratch/you/net.py(2): f") == [
        "run.py(5): step",
        "data.py(7): item",
        "net.py(2): f",
    ]


def test_two_files_with_the_same_name_stay_apart():
    assert shown("/a/x/train.py(5): step", "/b/y/train.py(5): step", "train.py(5): step", "/a/x/train.py(9): end") == [
        "(2)/train.py(5): step",
        "(3)/train.py(5): step",
        "train.py(5): step",
        "(2)/train.py(9): end",
    ]


@pytest.mark.parametrize(
    "machine",
    ["gpubox_4711", "gpu-node_4711", "trainer-0_17", "job-rank3_12", "10_4711", "ip-10-0-0-1.ec2_9", "my_gpu_4711"],
)
def test_a_worker_that_is_named_for_a_machine_keeps_its_process_alone(machine):
    process = machine.rpartition("_")[2]
    named = {("a", machine), ("a", "worker1"), ("b", machine)}
    assert passed_on_workers(named) == {machine: f"worker_{process}", "worker1": "worker1"}
    assert passed_on_workers([("a", f"worker_{process}")]) == {f"worker_{process}": f"worker_{process}"}


def test_workers_of_a_run_are_never_called_alike_and_each_has_one_name():
    """Containers number their processes in the same way, so that process numbers repeat."""
    named = [("a", "pod-0_17"), ("a", "pod-1_17"), ("b", "pod-1_17"), ("c", "pod-2_17"), ("d", "worker_17"),
             ("d", "pod-2_17")]  # fmt: skip
    assert passed_on_workers(named) == {
        "pod-0_17": "worker_17",
        "pod-1_17": "worker_17-2",
        "pod-2_17": "worker_17-2",
        "worker_17": "worker_17",
    }
    assert passed_on_workers(named[2:4]) == {"pod-1_17": "worker_17", "pod-2_17": "worker_17"}


@pytest.mark.parametrize(
    "name", ["rank3", "rank_3", "worker_0", "local_rank_1", "node1_rank3", "rank-34.Jul_15", "cpu"]
)
def test_a_worker_of_another_name_keeps_it(name):
    assert passed_on_workers([("a", name)]) == {name: name}


def test_figures_stay_and_names_go(tmp_path):
    """The last two of three steps run another file of the same name: no rows are merged or lost."""
    files = ["/home/me/job/train.py", "/home/you/lib/train.py", "/home/you/lib/train.py"]
    events = small_trace()["traceEvents"]
    for step, file in enumerate(files):
        at = {"ph": "X", "cat": "python_function", "pid": 10, "tid": 10, "ts": step * STEP_US + 34, "dur": 20}
        sync = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 10, "tid": 10}
        events += [at | {"name": f"{file}(54): step"}, sync | {"ts": step * STEP_US + 44, "dur": 8}]
    trace = read_trace(write_trace(tmp_path / "a.pt.trace.json", traceEvents=events))
    kept, measured = (measure_trace(trace, keep_paths=keep)[1] for keep in (True, False))
    assert [row.source for row in kept.results["host"].blocking] == [f"{each}(54): step" for each in files[1::-1]]
    assert [row.source for row in measured.results["host"].blocking] == ["(2)/train.py(54): step", "train.py(54): step"]
    text = msgspec.json.encode(kept.results)
    names = {b"/home/me/job/": b"", b"/home/you/lib/": b"(2)/"}
    for folder, name in names.items():
        text = text.replace(folder, name)
    assert json.loads(msgspec.json.encode(measured.results)) == json.loads(text)
    assert (kept.keeps_paths, measured.keeps_paths) == (True, False)
