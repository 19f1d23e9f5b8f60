"""Notes on one recording: what is wrong with it, what was done about that, and what it is like."""

from __future__ import annotations

from tb_steptime.insights.base import NoteWords

FINDING_WORDS: dict[str, NoteWords] = {
    "rows_overrun": NoteWords(
        "[{count}] of {all} GPU rows (runs|run) over the next one.",
        "(It ends|They end) where that starts: {excess} less GPU time, {share}.",
    ),
    "event_waits_inferred": NoteWords("Waits for events are not recorded.", "Failed allocations show {time} of them."),
    "waits_not_recorded": NoteWords(
        "Waits for the {device} are not recorded.",
        "The profiler records only calls that submit work to it. Waits count as work of the CPU.",
    ),
    "waits_inferred": NoteWords(
        "Waits for the {device} are not recorded.",
        "The profiler records only calls that submit work to it. [{count}] (copy|copies) to the CPU (was|were) waited "
        "for, as the ops around show: {time} in all. Other waits count as work of the CPU.",
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
    "clock_set_back": NoteWords(
        "The CPU's clock is set back by {step} during the recording.",
        "Ops that are called later begin earlier, so steps and waits have no known length. Record again.",
    ),
    "gpu_cut_short": NoteWords(
        "The file is cut, and GPU work is missing.", "The profiler writes it last, so any step may lack some."
    ),
    "end_missing": NoteWords(
        "The end is missing.",
        "{count} of {all} launches (has|have) no kernel. The recording counts up to the last that has one.",
    ),
    "launches_lost": NoteWords(
        "[{count}] of {all} launches (has|have) no kernel.",
        "(Its|Their) GPU work was dropped, so GPU time is too short and idle time too long.",
    ),
    "launches_untied": NoteWords(
        "[{count}] (launch|launches) and {work} kernels and copies are recorded, but not which launched which.",
        "Their rows have no numbers in common, so causes of idle time are not known.",
    ),
    "replays_incomplete": NoteWords(
        "[{replays}] of {all} graph launches (lacks|lack) work.",
        "Other launches of the same graph have {count} more kernels and copies: they were dropped, so GPU time is too "
        "short and idle time too long.",
    ),
    "marks_meaningless": NoteWords(
        "[{count}] step (mark does|marks do) not enclose the work of a step.",
        "(It lasts|Together they last) {time} while the GPU works for {work}. Steps are found without (it|them).",
    ),
    "work_not_recorded": NoteWords(
        "The GPU's work is missing.",
        "Work is launched by [{count}] (call|calls), and none of it is recorded: another profiler held the GPU, or the "
        "recording ended before the work ran.",
    ),
    # in WSL, calls are recorded and work is not: pytorch/kineto, issue 762
    "work_ran_unrecorded": NoteWords(
        "The GPU's work is missing.",
        "Work is launched by [{count}] (call|calls), and calls wait for it, but none of it is recorded: another "
        "profiler held the GPU, or PyTorch's profiler does not see its work, as in WSL.",
    ),
    "work_waited_for": NoteWords(
        "The GPU's work is missing.",
        "Calls wait {waited} for it, {waited_share} of the recording, so it takes at least about as long. Work is "
        "launched by [{count}] (call|calls), and none of it is recorded: another profiler held the GPU, or PyTorch's "
        "profiler does not see its work, as in WSL.",
    ),
    "only_captures": NoteWords(
        "No work runs on the GPU in this recording.",
        "Launches and copies that are captured into graphs: {count}. No graph is launched.",
    ),
    "graphs_captured": NoteWords(
        "[{count}] (launch is|launches are) captured into graphs.",
        "(It runs|They run) nothing here. {share} of the other launches are of the same ops, so no card says to launch "
        "them as graphs.",
    ),
    "work_on_mps": NoteWords(
        "The GPU's work is not recorded.",
        "The job runs on Metal (MPS), where PyTorch's profiler records the CPU only. Ops take as long as their calls "
        "or their waits, which is no CPU work.",
    ),
    "no_work": NoteWords(
        "This recording holds no work.",
        "It has no op, and [{count}] (call|calls) of the GPU's runtime that (launches|launch) nothing. The profiler "
        "makes such calls as it starts and stops.",
    ),
    "profiler_not_started": NoteWords("The profiler could not start on the GPU.", "No work of {name} is recorded."),
    "device_unseen_by_arrows": NoteWords(
        "The GPU's work is not in this export.",
        "It has the [{count}] (op|ops) that the autograd profiler recorded, and no kernel. `torch.profiler` exports "
        "both.",
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
    "device_unseen_by_linear": NoteWords(
        "The job runs on a device that is not recorded.",
        "{name} has no op for its product, as on Metal (MPS). Ops take as long as their calls or their waits.",
    ),
    "device_unseen_by_waits": NoteWords(
        "The CPU waits for a device that is not recorded.",
        "Reading a single number takes up to {longest}, and 1 ms or more [{count}] (time|times). Such ops are waits, "
        "which is no CPU work.",
    ),
    **dict.fromkeys(
        ("rows_unread", "mostly_unread"),
        NoteWords(
            "[{count}] of {all} events (is of a kind that is|are of kinds that are) not read.",
            "(It is|They are) in no figure. (It is named|Examples are) {names}.",
        ),
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
    "recordings_joined": NoteWords(
        "The file holds {recordings} recordings, with {time} between them.",
        "Nothing is recorded of that time. No verdict, gain or slow step counts it.",
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


#: `prof.step()` alone marks nothing: torch.profiler writes marks only where it has a schedule.
_SCHEDULE = "profile(schedule=schedule(wait=1, warmup=1, active=5, repeat=1))"
_MARK_STEPS = "In a script, pass {code}, and call `prof.step()` after each batch: without a schedule it marks no step."

RECORDING_NOTES: dict[str, NoteWords] = {
    "cpu_only": NoteWords(
        "CPU only.",
        "No GPU activity is recorded. If the job uses a GPU, record with {code}, too.",
        code="ProfilerActivity.CUDA",
    ),
    "cpu_job": NoteWords(
        "This job runs on the CPU.", "There are no GPU figures.", more="The Host view shows what the CPU computes."
    ),
    "launches_only": NoteWords(
        "CPU activity besides launch calls is not recorded.",
        "Why work is launched late, and what is one-time work, is not known. Record with {code}, too.",
        code="ProfilerActivity.CPU",
        more="If that was on, other threads launch the work: PyTorch records ops only in the thread that starts the "
        "profiler. Start it in the thread that launches, or set `profile_all_threads` in its `experimental_config`.",
    ),
    "experts_uneven": NoteWords(
        "The busiest of {experts} experts of a layer computes {most} tokens, {factor} times their mean.",
        "Here one process computes all experts, so that costs hardly any time. Other ranks would wait if the experts "
        "were on several.",
    ),
    "cut_before_device": NoteWords(
        "The file is cut, and no GPU activity is left in it.",
        "Only the CPU's part is shown.",
        more="The profiler writes GPU activity last, so the cut removed it if there was any.",
    ),
    "no_steps": NoteWords(
        "No step marks.", "The whole recording counts as one step.", code=_SCHEDULE, more=_MARK_STEPS
    ),
    "recordings_as_steps": NoteWords("No step marks.", "Each of the {recordings} recordings counts as one step."),
    "several_updates": NoteWords(
        "A step holds {updates} updates of the weights.",
        "Figures per step are of all of them. {code} after each batch makes steps of one.",
        code="prof.step()",
    ),
    "split_updates": NoteWords(
        "Each update of the weights takes two recorded steps.",
        "A batch takes twice the mean step, and gains are of half a batch. Call {code} once per batch.",
        code="prof.step()",
    ),
    "no_steps_before_cut": NoteWords(
        "No step marks before the cut.", "What is left of the recording counts as one step."
    ),
    "inferred_steps": NoteWords(
        "Steps are inferred from {count} calls of {name}.",
        "Confidence: {confidence}.",
        code=_SCHEDULE,
        more=f"The recording has no step marks. These steps hold {{share}} of its work. {_MARK_STEPS}",
    ),
    "repeats_hold_little": NoteWords(
        "No step marks.",
        "The whole recording counts as one step.",
        code=_SCHEDULE,
        more=f"{{count}} calls of {{name}} repeat, but hold only {{share}} of the recorded work. {_MARK_STEPS}",
    ),
    "time_outside_steps": NoteWords(
        "The steps take [{inside}] of the recorded [{total}].",
        "No figure of a step includes the rest: [{before}] before the first step, and [{after}] after the last one. "
        "{code} counts all of it as one step.",
        code="--steps recording",
    ),
    "outside_steps": NoteWords(
        "[{outside}] of [{total}] of GPU work is outside the steps.",
        "No figure of a step includes it.",
        more="Before the first step: {before}; between steps: {between}; after the last one: {after}.",
    ),
    "whole_recording": NoteWords("The whole recording is one step.", "Its step marks are not used."),
    "many_steps": NoteWords(
        "The recording has {count} steps, and the first {most} are measured.",
        "{code} cuts out the others.",
        code="tb-steptime slice",
        more="The others are steps {first} to {last}. They get a file of their own.",
    ),
    "many_loaders": NoteWords(
        "The steps wait for {count} loaders, and the first {most} are shown one by one.",
        "The others count as one.",
        code="tb-steptime slice",
        more="A file of fewer steps shows more of them: {code}.",
    ),
    "many_collectives": NoteWords(
        "Collectives are of {count} kinds and groups of ranks, and the {most} with most time are listed one by one.",
        "The others are one row.",
        code="tb-steptime slice",
        more="A file of fewer steps shows more of them: {code}.",
    ),
    "incomplete_steps": NoteWords(
        "The recording ends inside a step.",
        "Incomplete steps at the end are left out: {dropped}.",
    ),
    "before_recording": NoteWords(
        "Step {step} still runs [{time}] of work that was launched before the recording began.",
        "The step includes it; verdict, gains and slow steps do not.",
    ),
    "before_first_work": NoteWords(
        "What the GPU does in the first [{time}] of step {step} is not known: no launch calls are recorded.",
        "The step includes that time; verdict, gains and slow steps do not.",
    ),
    "once": NoteWords(
        "[{time}] of these steps is one-time work, mostly {name} ({longest}).",
        "Verdict, gains and slow steps leave it out. Begin the recording after a warm-up.",
    ),
    "after_recording": NoteWords(
        "The recording ends [{time}] after the GPU's last work in it.",
        "Step {step} includes that time; verdict, gains and slow steps do not.",
    ),
    "clocks_locked": NoteWords(
        "The GPU's clocks were locked while its counters were sampled.",
        "Kernel times differ from those of a normal run. Record again without counters to see the usual ones.",
    ),
    "sm_efficiency_measured": NoteWords(
        "SM efficiency: est. {estimated}, measured {measured}.",
        "The two count different things.",
        more="The estimate counts the blocks of kernels; the GPU counts the cycles in which its SMs have work.",
    ),
    "tensor_work_measured": NoteWords(
        "Tensor cores at work: est. {estimated}, measured {measured}.",
        "The two count different things.",
        more="The estimate is the time that the recorded products take at the peak rate; the GPU counts the cycles in "
        "which its tensor cores work.",
    ),
    "traffic_measured": NoteWords(
        "Memory bandwidth: est. {estimated}, measured {measured}.",
        "The two count different things.",
        more="The estimate reads the inputs of each op and writes its results once; the GPU counts what its memory "
        "moves, which is less where caches hold data and more where kernels read it again.",
    ),
    "graphs_annotated": NoteWords(
        "Annotations name what runs in captured graphs.",
        "They name the modules for {share} of the graphs' kernel time.",
        more="They were made while the graphs were captured.",
    ),
    "graphs_named": NoteWords(
        "What runs in captured graphs is named after the eager recording {recording}.",
        "{share} of the graphs' kernel time has the op and the module of the eager step.",
        more="Kernels were matched by name, launch shape and order.",
    ),
    "graphs_run_other_kernels": NoteWords(
        "What runs in captured graphs has no ops and no modules.",
        "The eager recording {recording} runs other kernels, so no names are carried over.",
        more="Only {share} of the graphs' kernel time is spent in kernels that it has, too.",
    ),
    "graphs_unnamed": NoteWords(
        "Captured graphs run {share} of the kernel time, without ops and modules.",
        "An eager recording of the same job in the log directory adds them.",
        more="Or capture with {code}, from PyTorch 2.15 on.",
        code="torch.cuda.graph(…, enable_annotations=True)",
    ),
    "profiling_slows": NoteWords(
        "The profiler slows the CPU.",
        "Without it a step is shorter and the GPU is idle for less of it; by how much is not recorded.",
    ),
    "profiling_estimated": NoteWords(
        "The profiler slows the CPU: est. {low} to {high} of each step.",
        "Without it the GPU is idle for less.",
        more="A step has [{count}] recorded (op, call or allocation|ops, calls and allocations); the cost of each was "
        "measured on CPU ops. Calls of the GPU's runtime come on top.",
    ),
    "profiling_timed": NoteWords(
        "Profiled steps take {times} x as long: {inside}, and {outside} without the profiler.",
        "The recorder timed both.",
        more="Medians of [{count}] profiled (step|steps) and of {others} others of the same job.",
    ),
    "profiling_unseen": NoteWords(
        "The profiler's cost is within the noise: a step takes {inside} with it, and {outside} without it.",
        "The recorder timed both.",
        more="Medians of [{count}] profiled (step|steps) and of {others} others of the same job. They differ by no "
        "more than the steps themselves do.",
    ),
    "profiling_drifted": NoteWords(
        "Steps without the profiler took longer: {outside}, and {inside} with it.",
        "The recorder timed both: medians of [{count}] profiled (step|steps) and of {others} others of the same job. "
        "The profiler shortens no step, so the machine or the job was slower then.",
    ),
    "profiling_measured": NoteWords(
        "The time from batch to batch is {inside} with the profiler, and {outside} without it.",
        "The recorder measured both.",
        more="Medians of [{count}] (batch|batches) in this recording and of {others} in the rest of the job.",
    ),
}
