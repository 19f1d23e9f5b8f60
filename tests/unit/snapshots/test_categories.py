"""What memory in a snapshot is for, by the code that allocates and frees it: drawn trainings and real snapshots."""

from __future__ import annotations

import pickle

from tb_steptime.snapshots.categories import by_category, categories
from tb_steptime.snapshots.model import allocations, usage
from tb_steptime.snapshots.reading import read_snapshot
from tests.drawn.real_traces import on_real_snapshots, real_path
from tests.drawn.snapshots import Allocator

TORCH = "/env/lib/python3.11/site-packages/torch"
LOOP = [("/home/user/train.py", "main")]
BUILD = [(f"{TORCH}/nn/modules/module.py", "_apply"), *LOOP]
FORWARD = [("/home/user/model.py", "forward"), (f"{TORCH}/nn/modules/module.py", "_call_impl"), *LOOP]
OPTIMIZER = [("/home/user/lion.py", "step"), (f"{TORCH}/optim/optimizer.py", "wrapper"), *LOOP]
ENGINE = [("??", "at::_ops::mm::call"), ("??", "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask>)")]
CHECKPOINT = [*FORWARD[:2], *ENGINE[1:]]
CLOSURE = [*FORWARD[:2], *OPTIMIZER]


def written(folder, made, keep=None):
    (folder / "snapshot.pickle").write_bytes(pickle.dumps(made.state(keep)))
    return read_snapshot(folder / "snapshot.pickle")


def parts_at(snapshot, device, after):
    use = usage(snapshot, device)
    made = allocations(snapshot, use, device)
    return by_category(categories(snapshot, use, made), made, after)


def found(snapshot, after=None):
    use = usage(snapshot, 0)
    parts = parts_at(snapshot, 0, len(use.entries) if after is None else after)
    assert sum(part.bytes for part in parts) == use.in_use[-1 if after is None else after]
    return {part.category: (part.bytes, part.count) for part in parts}


def training(made):
    """One step and the forward pass of the next one. Returns how many entries there were at the backward pass."""
    made.alloc(1000, code=BUILD)
    activation, scratch = made.alloc(300, code=FORWARD), made.alloc(70, code=FORWARD)
    made.free(scratch, FORWARD)
    batch = made.alloc(11, code=LOOP)
    gradient, inner = made.alloc(1000, code=ENGINE), made.alloc(500, code=ENGINE)
    again = made.alloc(40, code=CHECKPOINT)
    within = len(made.entries)
    for block in (again, inner, activation):
        made.free(block, ENGINE)
    made.alloc(2000, code=OPTIMIZER)
    made.free(made.alloc(90, code=OPTIMIZER), OPTIMIZER)
    made.free(gradient, LOOP)
    made.free(batch, LOOP)
    made.alloc(310, code=FORWARD)
    return within


def test_what_a_training_holds_in_its_backward_pass_and_in_its_next_forward_pass(tmp_path):
    made = Allocator()
    within = training(made)
    snapshot = written(tmp_path, made)
    assert found(snapshot, within) == {
        "parameters": (1000, 1), "gradients": (1000, 1), "activations": (340, 2), "temporary": (500, 1),
        "unknown": (11, 1),
    }  # fmt: skip
    assert found(snapshot) == {"parameters": (1000, 1), "optimizer_state": (2000, 1), "activations": (310, 1)}


def test_what_was_allocated_before_the_oldest_entry_is_from_before_the_recording(tmp_path):
    made = Allocator()
    block = made.alloc(1000, code=BUILD)
    block.frames = []
    made.alloc(300, code=LOOP)
    assert found(written(tmp_path, made, keep=1)) == {"unknown": (300, 1), "before_recording": (1000, 0)}


def test_what_a_generation_keeps_is_no_activation(tmp_path):
    """Without a backward pass, what the forward pass leaves is a cache of keys and values, or a result."""
    made = Allocator()
    made.alloc(64, code=FORWARD)
    made.free(made.alloc(20, code=FORWARD), LOOP)
    assert found(written(tmp_path, made)) == {"unknown": (64, 1)}


def test_a_forward_pass_that_the_optimizer_calls_is_no_optimizer_state(tmp_path):
    made = Allocator()
    made.alloc(1, code=OPTIMIZER)
    made.alloc(300, code=CLOSURE)
    assert found(written(tmp_path, made)) == {"optimizer_state": (1, 1), "activations": (300, 1)}


def test_without_any_memory_there_is_no_part(tmp_path):
    made = Allocator()
    made.free(made.alloc(5, code=LOOP), LOOP)
    snapshot = written(tmp_path, made)
    assert parts_at(snapshot, 0, 0) == []


@on_real_snapshots
def test_categories_of_real_snapshots_sum_to_what_is_in_use(path):
    snapshot = read_snapshot(real_path(path))
    for device in snapshot.devices:
        use = usage(snapshot, device)
        for after in (0, use.peak, len(use.entries)):
            assert sum(part.bytes for part in parts_at(snapshot, device, after)) == use.in_use[after]


def test_a_recorded_training_step_holds_its_state_in_shares_that_its_optimizer_explains():
    """AdamW in FP32 keeps two states for each parameter. At the end of the step all of them are there."""
    snapshot = read_snapshot(real_path("snapshots/snap_cs336_memory_ctx128_fullstep_.pickle"))
    parts = parts_at(snapshot, 0, len(usage(snapshot, 0).entries))
    bytes_by_category = {part.category: part.bytes for part in parts}
    assert 1.99 < bytes_by_category["optimizer_state"] / bytes_by_category["before_recording"] < 2.01
    assert 0.99 < bytes_by_category["gradients"] / bytes_by_category["before_recording"] < 1.01
    assert bytes_by_category["unknown"] < 0.001 * sum(bytes_by_category.values())
