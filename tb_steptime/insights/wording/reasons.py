"""Why something is not known, in words: one template for each code that metrics and analyses return as a `Reason`.

The table travels to the tab in the catalogue; the terminal asks `explain`.
"""

from __future__ import annotations

from tb_steptime.text import Phrase, Reason

#: Sentences by code. Each is complete: it stands alone, in a table cell, or after the meaning of an unknown figure.
REASONS: dict[str, str] = {
    "ambiguous_record_the_workers": "The number of workers is ambiguous in this trace: record the workers.",
    "attention_by_math": "Its inputs are FP32. From torch 2.5 on, attention without a fused kernel multiplies in FP32 "
    "also under autocast.",
    "attention_in_fp32": "Attention without a fused kernel computes in FP32, also with inputs of 16 bits.",
    "clocks_need_collectives": "Too few collectives join these ranks to compare their clocks.",
    "clocks_not_aligned": "Clocks of the ranks agree only within {residual}: times of different ranks are not shown "
    "beside each other.",
    "collectives_overlap_kernels": "Every collective runs at the same time as a computing kernel.",
    "curve_as_far_as_disk_allows": "Disk and network may allow less.",
    "curve_cores_not_known": "Cores and disk may allow less; how many cores there are is not recorded.",
    "curve_if_other_loaders_keep_up": "The other loaders have to keep up.",
    "curve_limited_by_cores": "The workers compute, and they may use {cores} cores: more workers slow each other down.",
    "curve_limited_if_workers_compute": "Whether the workers compute is not recorded. If they do, more than {cores} "
    "slow each other down.",
    "curve_lived_on_prefetched_batches": "These steps used batches that were prefetched while the profiler started: "
    "later a step takes about {then} instead of {now}.",
    "differs_by_loader": "Differs from loader to loader.",
    "empty_window": "The steps have no length.",
    "exchanges_out_of_order": "The ranks exchange in orders that exclude each other: an exchange was not recorded.",
    "flops_known_unequally": "The operations of products are known for more of their time on one side than on the "
    "other, as where one runs them in captured graphs: the two figures would not be of the same work.",
    "flops_mostly_unknown": "The operations of most time on products are not known: their kernels have no op "
    "with recorded shapes, as in captured graphs and custom kernels.",
    "expert_rows_do_not_sum": "The rows that experts compute in a loop do not sum to those that their router chooses, "
    "as where tokens beyond an expert's capacity are dropped.",
    "fp32_unsupported": "FP32 inputs, which the tensor cores of this GPU do not take.",
    "gain_by_peaks": "Gain: {time} x (1 - {plain} / {tensor}), the peak TFLOP/s without and with tensor cores.",
    "gain_by_peaks_and_bandwidth": "Gain: {time} x (1 - {plain} / {tensor}), the peak TFLOP/s without and with "
    "tensor cores; at most what the memory bandwidth leaves.",
    "gain_by_ratio": "Gain: {time} x (1 - 1 / {ratio}). The peak rates of this GPU are not listed; its tensor cores "
    "multiply at least {ratio} times as fast as its other cores.",
    "inputs_not_recorded": "The trace does not record the inputs of the op; record_shapes=True does.",
    "larger_job_has_too_many_calls": "How long more ranks take is not predicted: there are too many collectives.",
    "larger_job_needs_bytes": "How long more ranks take is not known: not all collectives of the data-parallel groups "
    "say how many bytes they exchange.",
    "larger_job_not_of_data": "How long more ranks take is not known: no process group is known to be of data "
    "parallelism, which more ranks would extend.",
    "larger_job_of_other_steps": "How long more ranks take is not known: not all ranks recorded the same steps.",
    "larger_job_shares_cores": "How long more ranks take is not known: on CPUs ranks share cores and slow each other "
    "down.",
    "late_batches_are_few": "How long a batch takes is not known: late batches take only {share} of the step. It is at "
    "most {most} x the number of workers.",
    "layout_converted": "The layout of the inputs is converted by other kernels of the op.",
    "library_choice": "Type and sizes fit; the library chose a kernel without tensor cores.",
    "loader_count_unknown": "One loader or several: the trace does not say.",
    "loader_on_other_thread": "The loader is read on another thread.",
    "machine_too_busy_to_sample_lines": "Lines are not known: the machine was too busy to sample the workers in time.",
    "memory_fit_length_ambiguous": "The length of a sequence is not known: it is also another size of the model, or "
    "differs from step to step.",
    "memory_fit_mixed_types": "What BF16 would save is not known: only a recording in FP32 shows it.",
    "memory_fit_needs_modules": "No module names what it made: with_stack=True records their calls, and what "
    "checkpointing each of them would save.",
    "memory_fit_needs_state": "The memory of the optimizer's state is not known. It follows from the name of the one "
    "optimizer and its parameters. On a CPU, the recording must also begin before the first step.",
    "memory_fit_no_copies": "How long copies between host and GPU would take is not computed: none of 1 MB or more is "
    "recorded.",
    "memory_fit_no_time": "How long a step with this setting takes is not recorded.",
    "memory_fit_needs_shapes": "The batch is not known. It is found in a training that is recorded with "
    "record_shapes=True.",
    "memory_fit_own_choice": "What recurrent layers and attention that is written out would take is not known: "
    "their libraries choose types and workspaces, and a recurrent layer calls more ops for a longer sequence.",
    "memory_fit_small": "What BF16 would save of less than 4 MB is not known: workspaces of libraries are as large.",
    "memory_inconsistent": "More is alive than the allocator counts: frees are missing in the trace.",
    "memory_needs_steps": "Growth needs {least} steps or more.",
    "memory_not_recorded": "Allocations were not recorded.",
    "memory_not_reserved": "The CPU has no caching allocator, which would reserve memory.",
    "memory_without_totals": "The trace has neither addresses nor totals: it is of a release before PyTorch 1.11.",
    "messages_one_sided": "In each step a message was recorded by its sender or its receiver alone: a rank was not "
    "recorded, or a thread that the profiler does not see sends it.",
    "messages_with_several_ranks": "One kernel exchanges messages with several ranks (`batch_isend_irecv`), and when "
    "each of them ends is not recorded.",
    "messages_without_peers": "To which rank each message goes is not recorded. Over gloo `record_shapes=True` does.",
    "misaligned_kernel": "The library chose a kernel for operands that are not aligned in memory.",
    "misaligned_size": "A size of {length} is not a multiple of {unit}.",
    "token_splits_not_recorded": "How many rows each all-to-all exchanges is not recorded. NCCL of current PyTorch "
    "records it where ranks exchange unequally many; over gloo `record_shapes=True` does.",
    "tokens_do_not_return": "All-to-alls do not come in pairs, to experts and back, so their rows are not tokens.",
    "no_blocks_recorded": "The blocks of kernels are not recorded, or not those of all.",
    "no_collective": "The trace has no collective.",
    "no_copy_in_steps": "The steps have no copy.",
    "mostly_unclassified": "Most of kernel time, {share}, is unclassified: the names of these kernels do not tell "
    "whether they run on tensor cores, and nothing else in the recording does.",
    "no_counters_in_steps": "The GPU's counters have no sample within the steps.",
    "no_counters_recorded": "The GPU's counters were not sampled.",
    "no_gain_computed": "No gain is computed: the peak rates of this GPU are not known, or these kernels cannot move.",
    "no_gpu_activity": "This trace has no GPU activity.",
    "no_kernel_in_steps": "No kernel runs within the steps.",
    "no_kernels_in_steps": "No kernel runs on this GPU within the steps.",
    "no_kineto_occupancy": "The trace has no occupancy (AMD GPUs do not record it).",
    "no_launch_calls": "The trace has no kernel launch calls.",
    "no_launch_shapes": "Registers of kernels or limits of the GPU are not recorded; on AMD GPUs never.",
    "no_loader_events": "The trace has no loader events.",
    "no_loader_events_in_steps": "The steps have no loader events.",
    "pipeline_order_unknown": "The order of its passes matches no known schedule, so it is compared with 1F1B.",
    "no_common_steps": "The ranks have no step in common whose end is known.",
    "no_matched_collectives": "No collective of these ranks could be matched with those of the others.",
    "decomposed_in_fp32": "PyTorch computes decompositions, solvers and their gradients in FP32, whatever the setting.",
    "no_matrix_product": "Tensor cores multiply matrices. A depthwise convolution, or a matrix times a vector, is "
    "no work for them.",
    "no_memset_in_steps": "The steps have no memset.",
    "no_rank_measures_it": "No rank of the job measures this.",
    "no_runtime_call": "The trace has no CUDA or HIP runtime call.",
    "no_tensor_cores": "This GPU has no tensor cores.",
    "not_computed": "It could not be computed, because its analysis failed on this file.",
    "older_release": "An older release of tb-steptime measured this and did not keep why it is not known.",
    "overhead_hidden_by_late_batches": "The loader's own work is not known: late batches hide it.",
    "peaks_not_known": "The peak rates of this GPU are not known here, and none are assumed. Set them in the "
    'environment: `TB_STEPTIME_PEAKS="part of its name: half=70 fp32=31.2 memory=600"`, in TFLOP/s and GB/s.',
    "profiler_tab_counts_outside_steps": "It also counts the kernels before the first and after the last step.",
    "profiler_tab_miscounts": "It counts kernels with {wrong} of kernel time that do not run on tensor cores, or of "
    "which it is unknown.",
    "profiler_tab_misses": "It misses kernels with {missed} of kernel time, whose names are not in its list.",
    "profiler_tab_misses_and_miscounts": "It misses kernels with {missed} of kernel time, whose names are not in "
    "its list, and counts kernels with {wrong} that do not run on tensor cores, or of which it is unknown.",
    "record_more_steps": "How many workers keep up is not known: record more steps within an epoch.",
    "role_not_shown": "Neither its name nor what it exchanges shows what the group is for.",
    "role_shown_by_exchanges": "The kinds of its collectives show it, and where in the step they are launched.",
    "role_shown_by_name": "Its name says it.",
    "scaling_work_not_known": "How the two jobs scale is not known: the computing time of a rank is neither the same "
    "in both nor shorter in proportion to the number of ranks.",
    "too_many_exchanges": "The ranks exchange more than {most} times.",
    "small_size": "A size of {length} fills a small part of a tile.",
    "stage_of_product": "It prepares or completes a matrix product that does not use tensor cores.",
    "tf32_may_be_no_faster": "FP32 inputs. On this GPU TF32 may be no faster than FP32; 16-bit inputs are.",
    "tf32_no_faster": "FP32 inputs, and on this GPU TF32 is no faster than FP32: only 16-bit inputs are.",
    "tf32_off": "FP32 inputs, and TF32 is off.",
    "tf32_off_in_cudnn": "FP32 inputs, and no convolution of this trace runs as TF32.",
    "too_few_line_samples": "Lines are not known: the workers were sampled {bursts} times, at most once a second, "
    "and {least} are needed.",
    "type_unsupported": "The tensor cores of this GPU do not take inputs of this type.",
    "workers_not_in_trace": "The worker processes are not in this trace.",
}


def explain(reason: Reason) -> Phrase:
    """Returns the sentence of a reason. KeyError where the table lacks its code."""
    return Phrase(REASONS[reason.code], reason.values)
