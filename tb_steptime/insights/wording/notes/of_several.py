"""Notes on several recordings: what makes a comparison unfair, and the ranks of a job."""

from __future__ import annotations

from tb_steptime.insights.base import NoteWords

COMPARISON_NOTES: dict[str, NoteWords] = {
    "one_simulated": NoteWords(
        "One of the two is simulated, the other recorded.", "Their times say nothing about each other."
    ),
    "one_without_gpu": NoteWords(
        "Only one of the two recorded a GPU.", "Compare how the steps are divided, not how fast they are."
    ),
    "other_gpus": NoteWords(
        "The GPUs differ: [{base}] and [{candidate}].", "Part of the difference is the hardware's."
    ),
    "other_ranks": NoteWords(
        "The number of ranks differs: [{base}] and [{candidate}].", "A step does a different share of the work."
    ),
    "other_runtime": NoteWords(
        "The versions of the runtime differ: [{base}] and [{candidate}].", "Libraries and kernels differ with it."
    ),
    "other_shapes": NoteWords(
        "The first product of a step has other shapes: [{base}] and [{candidate}].",
        "A step does a different amount of work: compare times per sample.",
    ),
    "other_dtypes": NoteWords(
        "The first product of a step has another type: [{base}] and [{candidate}].",
        "That is fine if it is the change you are testing.",
    ),
    "other_purpose": NoteWords(
        "The base is a job of [{base}], the candidate of [{candidate}].", "They do different work."
    ),
    "other_ops": NoteWords(
        "The two have hardly an op in common, and the shapes of their inputs are not recorded.",
        "Steps may do other work: record both with record_shapes=True.",
    ),
    "other_kernels": NoteWords(
        "The two have hardly a kernel in common: {share} of the kernel time.",
        "Their kernels show that the steps do other work.",
        more="One runs in captured graphs, so ops on the CPU say little.",
    ),
    "other_amount": NoteWords(
        "The same kernels run about {times} times as often in a step of the [{side}].",
        "A step does a different amount of work: compare times per sample.",
    ),
    "other_gradients": NoteWords(
        "A step of the [{side}] computes about {times} times as many gradients.",
        "The models differ, or a step adds up several batches: compare times per sample.",
        more="The shapes of inputs are not recorded; record_shapes=True would show more.",
    ),
    "other_options": NoteWords(
        "Only one of the two was recorded with [{options}].", "Recording more slows the host: record both alike."
    ),
    "few_steps": NoteWords(
        "One side has [{count}] (step|steps).", "Record at least 5, better 20, to tell a change from noise."
    ),
    "steps_left_out": NoteWords(
        "[{count}] (step|steps) of {run} (is|are) not compared: {steps}.",
        "(It holds|They hold) one-time work, or work from before or after the recording.",
    ),
    "with_stack": NoteWords(
        "Recorded with call stacks.",
        "Times of the host are upper bounds.",
        more="Call stacks slow the host: Data loading, Runtime and CPU exec. Kernel is not affected.",
    ),
    "with_both": NoteWords(
        "Recorded with call stacks and memory profiling.",
        "Times of the host are upper bounds.",
        more="Call stacks slow the host, and memory profiling slows every op that allocates. Kernel is not affected.",
    ),
    "with_memory": NoteWords(
        "Recorded with memory profiling.",
        "Times of the host are upper bounds.",
        more="Memory profiling slows every op that allocates. Kernel is not affected.",
    ),
    "several_devices": NoteWords(
        "This process drives {number} GPUs.",
        "GPU figures are those of GPU {main}, which is busy longest.",
        more="The parts of the step count the GPU as working while any of them works.",
    ),
    "kineto_occupancy": NoteWords(
        "Occupancy differs from the PyTorch Profiler tab.",
        "It is recomputed here from each launch.",
        more="The profiler writes 0 for kernels with more than 48 KiB of shared memory, {share} of kernel time here.",
    ),
}


RANK_NOTES: dict[str, NoteWords] = {
    "ranks_missing": NoteWords(
        "[{count}] of {all} ranks (was|were) not recorded at this time.",
        "What (it|they) did is not known: a rank that makes the others wait may be (it|among them).",
    ),
    "ranks_twice": NoteWords(
        "[{count}] (rank has|ranks have) several recordings of this time.",
        "The one with most steps counts. Are these different jobs in one folder?",
    ),
    "ranks_not_computed": NoteWords(
        "Steps or collectives of [{count}] of {all} ranks could not be computed: an analysis failed on (its file|their "
        "files).",
        "What (it does|they do) in them is not known; the figures of the others are valid.",
    ),
    "ranks_cut_short": NoteWords(
        "The files of [{count}] of {all} ranks end before the recording does.",
        "Steps and collectives after the cut are missing on (it|them).",
    ),
    "ranks_with_other_steps": NoteWords(
        "[{count}] of {all} ranks (lacks|lack) steps that others recorded.",
        "Collectives are matched in the steps that all ranks of their group recorded.",
    ),
    "collectives_unlike": NoteWords(
        "[{count}] of {all} collectives differ from rank to rank in order, kind or size, or some rank lacks (it|them).",
        "(It is|They are) in no figure of transfers, waits and late ranks.",
    ),
    "ranks_number_steps_differently": NoteWords(
        "Ranks number their steps differently: [{count}] (collective|collectives) of the same step and host (does|do) "
        "not run at the same time.",
        "(It is|They are) not matched, and steps of one number may not be the same step. Start the profiler on all "
        "ranks at the same step.",
    ),
    "collectives_alone": NoteWords(
        "[{count}] (collective is|collectives are) of groups with one recorded rank, or whose name others may have.",
        "What (it waits|they wait) for is not known.",
    ),
    "collectives_stalled": NoteWords(
        "[{count}] {kind} (call takes|calls take) {beyond} longer on all ranks than the others, which take {usual}.",
        "No rank is late for (it|them). (It moves|They move) more bytes or (waits|wait) for something, which the sizes "
        "would show. No card promises a gain.",
    ),
    "links_not_read": NoteWords(
        "The peak rates of links in TB_STEPTIME_LINKS cannot be read.",
        "Bandwidths are not compared with any peak. Write `machine=450 network=50`, in GB/s of each GPU in one "
        "direction.",
    ),
    "collectives_of_some_steps": NoteWords(
        "Collectives of [{count}] of {all} steps are matched over ranks.",
        "Waits and transfers cover these steps alone.",
        more="Where there are very many, the first steps are kept, and steps in which ranks differ are left out.",
    ),
}
