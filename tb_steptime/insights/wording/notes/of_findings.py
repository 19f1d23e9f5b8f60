"""Findings: what is wrong with a recording, and what was done about it."""

from __future__ import annotations

from tb_steptime.insights.base import NoteWords

FINDING_WORDS: dict[str, NoteWords] = {
    "rows_overrun": NoteWords(
        "[{count}] of {all} GPU rows (runs|run) over the next one.",
        "(It ends|They end) where that starts: {excess} less GPU time, {share}.",
    ),
    "clocks_shifted": NoteWords(
        "The clocks of CPU and GPU disagree.",
        "{share} of launches begin after their work, so the GPU's rows are shifted by {shift}.",
    ),
    "clocks_bounded": NoteWords(
        "The clocks of CPU and GPU disagree.",
        "{share} of launches begin after their work, so the GPU's rows are shifted by {shift}, the least "
        "that corrects it. No launch reaches an idle GPU and no call waits for one, so the GPU may have started "
        "later.",
    ),
    "clocks_late": NoteWords(
        "The clocks of CPU and GPU disagree.",
        "{share} of the calls that wait for the GPU return before its work ends, so its rows are shifted by {shift}.",
    ),
    "clocks_drift": NoteWords(
        "The clocks of CPU and GPU drift apart.",
        "{share} of launches begin after their work, so the GPU's rows are shifted by up to {shift}.",
    ),
    "clocks_beyond_repair": NoteWords(
        "The clocks of CPU and GPU disagree.",
        "{share} of launches begin after their work, by up to {shift}, and no shift corrects it: causes of idle time "
        "are not known.",
    ),
    "end_missing": NoteWords(
        "The end is missing.",
        "{count} of {all} launches (has|have) no kernel. The recording counts up to the last that has one.",
    ),
    "launches_lost": NoteWords(
        "[{count}] of {all} launches (has|have) no kernel.",
        "(Its|Their) GPU work was dropped, so GPU time is too short and idle time too long.",
    ),
    "replays_incomplete": NoteWords(
        "[{replays}] of {all} graph launches (lacks|lack) work.",
        "Other launches of the same graph have {count} more kernels and copies: they were dropped, so GPU time is too "
        "short and idle time too long.",
    ),
    "marks_meaningless": NoteWords(
        "[{count}] step (mark is|marks are) not around the steps.",
        "(It lasts|Together they last) {time} while the GPU works for {work}. Steps are found without (it|them).",
    ),
    "work_not_recorded": NoteWords(
        "The GPU's work is missing.",
        "Work is launched by [{count}] (call|calls), and none of it is recorded: another profiler held the GPU, or the "
        "recording ended before the work ran.",
    ),
    "work_on_mps": NoteWords(
        "The GPU's work is not recorded.",
        "The job runs on Metal (MPS), where PyTorch's profiler records the CPU only. Ops take as long as their calls "
        "or their waits, which is no CPU work.",
    ),
    "device_unseen_by_memory": NoteWords(
        "The job runs on a device that is not recorded.",
        "Its allocations are ({name}), its work is not. Ops take as long as their calls or their waits, which is no "
        "CPU work.",
    ),
    "device_unseen_by_rate": NoteWords(
        "The job runs on a device that is not recorded.",
        "On the CPU [{count}] (op|ops), such as {name}, would move more than 2 TB/s. Ops take as long as their calls "
        "or their waits.",
    ),
    "device_unseen_by_waits": NoteWords(
        "The CPU waits for a device that is not recorded.",
        "Reading a single number takes up to {longest}, and 1 ms or more [{count}] (time|times). Such ops are waits, "
        "which is no CPU work.",
    ),
    "memory_short": NoteWords(
        "GPU memory ran short [{count}] (time|times).",
        "Each time an allocation failed, the allocator gave back its cache and tried again: {time} in all. That may "
        "happen in any step.",
    ),
    "caching_off": NoteWords(
        "The caching allocator is off.",
        "For {ops} ops, [{count}] (call asks|calls ask) the driver for memory. Steps are slower than in normal use.",
    ),
    "device_unnamed": NoteWords(
        "The GPU is not named.",
        "Its kernel names show {generation} or later. Figures that need its peaks are not known.",
    ),
    "profiler_time": NoteWords(
        "The GPU is idle for {time} while the profiler itself works.",
        "That is {share} of the steps, and no verdict, gain or slow step counts it.",
    ),
    "ops_observed": NoteWords(
        "Something besides the profiler slows each op by {each}.",
        "Ops that compute nothing take that long, and less than 1 µs otherwise. That is est. {cost} of each step or "
        "more, [{share}]. ExecutionTraceObserver does so, for example: record without it.",
    ),
}
