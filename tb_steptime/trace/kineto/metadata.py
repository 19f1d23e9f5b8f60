"""Values other than events -> devices, the job, the base time. A value of a wrong type counts as missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from tb_steptime.trace.compute_capability import SM_LIMITS
from tb_steptime.trace.kineto.numbers import number_of
from tb_steptime.trace.kineto.repair import repair
from tb_steptime.trace.model import Device, Job, ProcessGroup

_WANTED = {
    "deviceProperties",
    "distributedInfo",
    "baseTimeNanoseconds",
    "with_stack",
    "profile_memory",
    "cuda_runtime_version",
    "hip_runtime_version",
    "tb_steptime_simulated",
    "tb_steptime_unfinished_step",
    "tb_steptime_sliced_steps",
}
#: Upper limit of any count. A base time in ns is below it until the year 2116.
_TOO_MANY = 2**62


def _decoded(text: bytes) -> Any:
    """Returns a value of JSON, which is repaired where it is not valid. Raises ValueError and RecursionError."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        import json  # few files need it

        return json.loads(repair(text).text, strict=False)


class Metadata:
    """What the file holds other than its events.

    has_stacks: whether the events included call stacks. Only some versions write a value for it.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self.has_stacks = False

    def add(self, key: str, text: bytes) -> bool:
        """Keeps the value if its key is one of those used. Returns False if it is damaged."""
        if key not in _WANTED:
            return True
        try:
            self._values[key] = _decoded(text)
        except (ValueError, RecursionError):
            return False
        return True

    def add_later(self, later: Metadata) -> None:
        """Adds what a later part of the file holds."""
        self._values |= later._values
        self.has_stacks |= later.has_stacks

    @property
    def base_time_ns(self) -> int:
        return _integer(self._values.get("baseTimeNanoseconds")) or 0

    def devices(self, active: Iterable[int]) -> dict[int, Device]:
        """Returns the listed devices, and those active ids that can be identified with one of them."""
        listed = [_device(one) for one in self._listed()]
        return _with_unlisted({device.id: device for device in listed if device}, sorted(active))

    def mended_device_count(self) -> int:
        """Returns the number of listed devices whose properties contain values of other properties."""
        return sum(_lists_sms_as_threads(one) for one in self._listed())

    def _listed(self) -> list[dict[str, Any]]:
        listed = self._values.get("deviceProperties")
        return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []

    def job(self, accelerator: str, kernels_left_out: bool, process_labels: set[str]) -> Job:
        group = self._values.get("distributedInfo")
        group = group if isinstance(group, dict) else {}
        simulated = self._values.get("tb_steptime_simulated")
        return Job(
            rank=_integer(group.get("rank")),
            world_size=_integer(group.get("world_size")),
            with_stack=self.has_stacks or bool(_flag(self._values.get("with_stack"))),
            with_memory=bool(_flag(self._values.get("profile_memory"))),
            runtime=self._runtime(),
            simulated=simulated if isinstance(simulated, str) else None,
            accelerator=accelerator,
            kernels_left_out=kernels_left_out,
            labels_gpus=_labels_gpus(process_labels),
            unfinished_step=_integer(self._values.get("tb_steptime_unfinished_step")),
            sliced_from_ns=self._sliced_from_ns(),
            groups=_process_groups(group.get("pg_config")),
        )

    def _sliced_from_ns(self) -> int | None:
        steps = self._values.get("tb_steptime_sliced_steps")
        return _integer(steps.get("start_ns")) if isinstance(steps, dict) else None

    def _runtime(self) -> str | None:
        """Returns the version of the runtime. CUDA writes 12.4 as 12040, and HIP writes 6.2.41133 as 60241133."""
        cuda = _integer(self._values.get("cuda_runtime_version"))
        hip = _integer(self._values.get("hip_runtime_version"))
        if cuda:
            return f"CUDA {cuda // 1000}.{cuda % 1000 // 10}"
        return f"HIP {hip // 10_000_000}.{hip // 100_000 % 100}" if hip else None


def _labels_gpus(labels: set[str]) -> bool | None:
    """Returns whether Kineto labelled processes after GPUs, or None if the labels are not Kineto's."""
    if any(label.startswith("GPU ") for label in labels):
        return True
    return False if labels == {"CPU"} else None


def _process_groups(listed: Any) -> tuple[ProcessGroup, ...]:
    """Returns the process groups. Lists of many ranks may be abbreviated to text; their ranks are then unknown."""
    groups = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(
        ProcessGroup(str(one.get("pg_name") or ""), str(one.get("pg_desc") or ""), _ranks(one.get("ranks")))
        for one in groups
    )


def _ranks(listed: Any) -> tuple[int, ...]:
    ranks = listed if isinstance(listed, list) else []
    return tuple(sorted(ranks)) if all(isinstance(rank, int) for rank in ranks) else ()


#: No SM holds fewer threads than this, and no GPU has more SMs.
_FEWEST_THREADS = 1024


def _lists_sms_as_threads(properties: dict[str, Any]) -> bool:
    """Returns whether the number given as the threads of an SM is that of the SMs. The Python exporter of PyTorch 2.13
    and 2.14 writes so, and leaves out the shared memory of an SM."""
    threads = _integer(properties.get("maxThreadsPerMultiprocessor"))
    return (
        threads is not None and 0 < threads < _FEWEST_THREADS and _integer(properties.get("numSms")) in (None, threads)
    )


def _mended(device: Device) -> Device:
    """Takes the number given as threads to be that of SMs, and takes the limits of one SM from its compute capability.
    ROCm devices number compute capabilities by other rules."""
    limits = (
        None if "AMD" in device.name or device.compute_capability is None else SM_LIMITS.get(device.compute_capability)
    )
    return replace(
        device,
        sm_count=device.max_threads_per_sm,
        max_threads_per_sm=limits.threads if limits else None,
        shared_memory_per_sm=device.shared_memory_per_sm or (limits.shared_memory if limits else None),
    )


def _device(properties: dict[str, Any]) -> Device | None:
    id = _integer(properties.get("id"))
    if id is None:
        return None
    major, minor = _integer(properties.get("computeMajor")), _integer(properties.get("computeMinor"))
    shared = _integer(properties.get("sharedMemPerMultiprocessor"))
    device = Device(
        id=id,
        name=str(properties.get("name") or ""),
        sm_count=_integer(properties.get("numSms")),
        compute_capability=None if major is None or minor is None else (major, minor),
        max_threads_per_sm=_integer(properties.get("maxThreadsPerMultiprocessor")),
        registers_per_sm=_integer(properties.get("regsPerMultiprocessor")),
        shared_memory_per_sm=_integer(properties.get("maxSharedMemoryPerMultiProcessor")) if shared is None else shared,
        memory_bytes=_integer(properties.get("totalGlobalMem")),
    )
    return _mended(device) if _lists_sms_as_threads(properties) else device


def _with_unlisted(listed: dict[int, Device], active: list[int]) -> dict[int, Device]:
    """Returns the devices, with those active ids that the list does not have. ROCm's activities number all agents, CPUs
    first, so that GPU 0 of the list may be device 2, and 7 device 9.

    If all listed GPUs are alike, an unlisted id has the same properties. If as many devices are active as listed and no
    id fits, they are in the same order. Otherwise nothing is known about such an id.
    """
    unlisted = [id for id in active if id not in listed]
    if len({replace(device, id=0) for device in listed.values()}) == 1:
        return listed | {id: replace(next(iter(listed.values())), id=id) for id in unlisted}
    if len(unlisted) == len(active) == len(listed):
        return {id: replace(listed[listed_id], id=id) for id, listed_id in zip(unlisted, sorted(listed), strict=True)}
    return listed


def _integer(value: object) -> int | None:
    number = number_of(value)
    return None if number is None or number != int(number) or not 0 <= number < _TOO_MANY else int(number)


def _flag(value: object) -> bool | None:
    """Returns a flag that is written as 1 and 0 or as true and false, or None if it is not written."""
    return bool(value) if isinstance(value, (bool, int)) else None
