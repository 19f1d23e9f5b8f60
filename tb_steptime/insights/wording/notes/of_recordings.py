"""Notes on what a recording is like."""

from __future__ import annotations

from tb_steptime.insights.base import NoteWords

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
        "This job runs on the CPU.",
        "There are no GPU figures.",
        more="The Host view shows what the CPU computes.",
    ),
    "launches_only": NoteWords(
        "Only launch calls are recorded of the CPU.",
        "Why work is launched late, and what is one-time work, is not known. Record with {code}, too.",
        code="ProfilerActivity.CPU",
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
        "No step marks.",
        "The whole recording counts as one step.",
        code=_SCHEDULE,
        more=_MARK_STEPS,
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
    "outside_steps": NoteWords(
        "[{outside}] of [{total}] of GPU work is outside the steps.",
        "No figure of a step includes it.",
        more="Before the first step: {before}; between steps: {between}; after the last one: {after}.",
    ),
    "whole_recording": NoteWords(
        "The whole recording is one step.",
        "Its step marks are not used.",
    ),
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
        "Profiled steps take no longer than others: {inside}, and {outside} without the profiler.",
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
