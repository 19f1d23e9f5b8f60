"""The job's own scalars: which folders of event files belong to a run, and which TensorBoard answers are passed on."""

import math
from types import SimpleNamespace

import pytest
from tensorboard.errors import NotFoundError

from tb_steptime.serve.scalars import JobScalars, Scalars, ScalarSeries, folders_of


@pytest.mark.parametrize(
    ("run", "runs", "folders", "found"),
    [
        ("a", ["a", "b"], ["a", "b"], ["a"]),
        ("jobs/a", ["jobs/a"], ["jobs/a/val", "jobs/a/train", "jobs/ab"], ["jobs/a/train", "jobs/a/val"]),
        ("jobs/a/profile", ["jobs/a/profile", "jobs/b/profile"], ["jobs/a", "jobs/b"], ["jobs/a"]),
        ("jobs/a/profile", ["jobs/a/profile"], [".", "jobs"], ["jobs"]),
        ("profile", ["profile"], ["."], ["."]),
        (".", ["."], ["version_0"], ["version_0"]),
        # the folder contains several runs, so it is unknown which of them it belongs to
        ("a", ["a", "b"], ["."], []),
        ("jobs/a", ["jobs/a", "jobs"], ["jobs"], []),
        ("a", ["a"], ["b", "ab"], []),
        ("a", ["a"], [], []),
    ],
)
def test_the_folders_of_a_run(run, runs, folders, found):
    assert folders_of(run, runs, folders) == found


class Provider:
    """Like TensorBoard's data provider: folders of tags of points (step, seconds, value)."""

    def __init__(self, data):
        self.data = data

    def list_scalars(self, ctx=None, *, experiment_id, plugin_name, run_tag_filter=None):
        assert plugin_name == "scalars"
        return {run: dict.fromkeys(tags) for run, tags in self.data.items()}

    def read_scalars(self, ctx=None, *, experiment_id, plugin_name, downsample=None, run_tag_filter=None):
        return {
            run: {
                tag: [SimpleNamespace(step=step, wall_time=at, value=value) for step, at, value in points]
                for tag, points in tags.items()
                if tag in run_tag_filter.tags
            }
            for run, tags in self.data.items()
            if run in run_tag_filter.runs
        }


def test_tags_and_the_series_of_one():
    provider = Provider({"a": {"loss": [(0, 10.5, 2.0), (1, 11.0, math.nan)], "lr": [(0, 1.0, 0.1)]}, "b": {"x": []}})
    scalars = JobScalars(provider, {})
    assert scalars.read("a", ["a", "b"], None) == Scalars(["loss", "lr"], [])
    assert scalars.read("a", ["a", "b"], "loss") == Scalars(
        ["loss", "lr"], [ScalarSeries("a", "loss", [0, 1], [10_500_000_000, 11_000_000_000], [2.0, None])]
    )
    assert scalars.read("a", ["a", "b"], "gone") == Scalars(["loss", "lr"], [])
    assert scalars.read("c", ["a", "b", "c"], "loss") == Scalars([], [])


class Broken(Provider):
    def list_scalars(self, *_, **__):
        raise NotFoundError("experiment")


@pytest.mark.parametrize("provider", [None, Broken({})])
def test_a_provider_that_is_absent_or_refuses_has_no_scalars(provider):
    assert JobScalars(provider, {}).read("a", ["a"], "loss") == Scalars([], [])
