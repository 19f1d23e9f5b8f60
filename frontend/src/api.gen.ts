/** Made by `make gen` from tb_steptime/serve/api.py. Do not edit. */

export type ViewId =
  | "overview"
  | "trends"
  | "data_loading"
  | "tensor_cores"
  | "gpu"
  | "host"
  | "operators"
  | "memory"
  | "compare"
  | "ranks"
  | "timeline";

export type SpanTitleId =
  | "steps"
  | "tile.step_time"
  | "tile.gpu_utilization"
  | "tile.est_sm_efficiency"
  | "tile.est_achieved_occupancy"
  | "tile.tensor_core_share"
  | "tile.data_loading_exposed"
  | "tile.host_bound_share"
  | `split.${number}`
  | `kernels.${number}`
  | `kernel_time.${number}`
  | `time_bins.${number}`
  | `roofline.${number}`
  | "no_lines"
  | "no_modules"
  | "lanes"
  | "workers_over_time"
  | "batch_split"
  | "activities"
  | "lines_missing"
  | "main_loader"
  | "burst"
  | "burst_pace"
  | "burst_check"
  | "curve"
  | "curve_pace"
  | "curve_epochs"
  | "data_loading_exposed"
  | "data_loading_hidden"
  | "step_without_wait"
  | "batch_time"
  | "needed_workers"
  | "answer"
  | "queue"
  | "reasons"
  | "sites"
  | "blocking"
  | "blocking_remark"
  | "copies"
  | "devices"
  | "pauses"
  | "operators"
  | "modules"
  | "lines"
  | "outside"
  | "no_ops"
  | "no_shapes"
  | "no_stacks"
  | `memory_curve.${number}`
  | `memory_parts.${number}`
  | `memory_growth.${number}`
  | `memory_fit.${number}`;

export type TrendsTitleId =
  | "steps"
  | "slow"
  | "slow_rule"
  | "time_bins"
  | "step_time"
  | "host_step_time"
  | "data_loading_exposed"
  | "data_loading_exposed_share"
  | "data_loading_hidden"
  | "data_loading_wait"
  | "batch_time"
  | "step_without_wait"
  | "needed_workers"
  | "host_floor"
  | "kernel_time"
  | "communication_time"
  | "memcpy_time"
  | "memset_time"
  | "data_loader_time"
  | "runtime_time"
  | "cpu_exec_time"
  | "other_time"
  | "peak_allocated"
  | "peak_reserved"
  | "gpu_utilization"
  | "est_sm_efficiency"
  | "est_achieved_occupancy"
  | "kineto_achieved_occupancy"
  | "measured_sm_active"
  | "measured_tensor_active"
  | "measured_dram"
  | "gpu_power"
  | "gpu_temperature"
  | "sm_clock"
  | "memory_clock"
  | "tensor_core_share"
  | "tensor_core_share_high"
  | "kernel_sum_time"
  | "tensor_core_time"
  | "matmul_like_time"
  | "unknown_kernel_time"
  | "mfu"
  | "hfu"
  | "model_gflop"
  | "known_flops_share"
  | "host_bound_share"
  | "host_bound_time"
  | "host_late_time"
  | "idle_blocking_call_time"
  | "idle_allocator_time"
  | "idle_cpu_work_time"
  | "idle_nothing_recorded_time"
  | "launch_latency_time"
  | "queued_time"
  | "idle_collective_time"
  | "idle_dependency_time"
  | "unrecorded_work_time"
  | "idle_unknown_time"
  | "idle_tail_time"
  | "launches"
  | "queue_mean"
  | "run_ahead_p50"
  | "starved_share"
  | "bubble_time";

export type RanksTitleId =
  | "pipeline"
  | "lanes"
  | "map"
  | "map.caused"
  | "map.waits"
  | "waits"
  | "collectives"
  | "clocks";

/** The type of SpanPage.result, by view. */
export interface ResultOf {
  overview: OverviewResult;
  trends: TrendsResult;
  data_loading: DataLoadingResult;
  tensor_cores: TensorCoresResult;
  gpu: GpuResult;
  host: HostResult;
  operators: OperatorsResult;
  memory: MemoryResult;
  compare: CompareResult;
  ranks: RanksResult;
  timeline: TimelineResult;
}

/** A SpanPage whose view is known. */
export type PageOf<V extends ViewId> = Omit<SpanPage, "result"> & { result: ResultOf[V] };

/**
 * What the training thread did inside the loader, self time per batch; name None: Python without an op.
 * lines: where it did so, longest first, as far as call stacks show; together they are at most the activity.
 */
export interface Activity {
  name: string | null;
  ns_per_batch: number;
  lines: LoaderLine[];
}

/**
 * What a device has allocated after all that happens until an instant. categories: sum to allocated_bytes; None
 * with why_unknown. rows: the largest, most bytes first; more_rows: how many others are alive.
 */
export interface AliveAt {
  at_ns: number;
  allocated_bytes: number;
  reserved_bytes: number | null;
  categories: CategoryBytes[] | null;
  why_unknown: Reason | null;
  rows: AllocationRow[];
  more_rows: number;
}

/**
 * An allocation. op: innermost, outer_op: outermost around it; None outside of ops. of the backward pass module and
 * line are those of the forward op that it belongs to. died_ns: None where the recording ends before; lives_steps: in
 * how many later steps it is freed, None where that is not known.
 */
export interface AllocationRow {
  bytes: number;
  category: "activations" | "before_recording" | "gradients" | "inputs" | "optimizer_state" | "parameters" | "temporary" | "unknown";
  op: string | null;
  outer_op: string | null;
  module: string | null;
  line: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  step: string | null;
  born_ns: number;
  died_ns: number | null;
  lives_steps: number | null;
}

/** A call with which the caching allocator asks the driver for memory, or gives it back. */
export interface AllocatorCall {
  name: string;
  start_ns: number;
  dur_ns: number;
}

/**
 * Autograd's anomaly checks in the mean step. checks: number of gradients checked; ns: time in these checks and in
 * keeping stacks, as far as it is recorded; on a GPU the checks wait for it.
 */
export interface AnomalyChecks {
  checks: number;
  ns: number;
}

/** The peak at a batch, bytes. For the recorded batch it is measured, and all three values are equal. */
export interface BatchFit {
  batch: number;
  peak_bytes: number;
  low_bytes: number;
  high_bytes: number;
}

/** A figure at one resolution: thousandths per bin from the span's start on; None where nothing runs. */
export interface BinLevel {
  bin_ns: number;
  permille: (number | null)[];
}

/** A bin of kernel time. short: over a column; answer: to the question whether a kernel runs on tensor cores. */
export interface BinMeaning {
  id: "matmul_like" | "other" | "tensor_core" | "unknown";
  label: string;
  short: string;
  answer: string;
  meaning: string;
  colour: string;
  hatched: boolean;
}

/** An op on behalf of one device that blocked the launching thread while another device was idle; ns per step. */
export interface Blocker {
  op: string;
  by_device: number;
  idle_device: number;
  idle_ns: number;
}

/**
 * Blocking calls of one place, as in `BlockingRow`. Sums over the compared steps; total_ns: how long they block the
 * host; deviation_ns: the standard deviation of that per step, None if there is one step. source: without the line
 * number, which changes when a line is added above it.
 */
export interface BlockingPlace {
  call: string;
  kind: "allocator" | "copy" | "pageable_copy" | "sync";
  op: string | null;
  outer_op: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  direction: string | null;
  module: string | null;
  source: string | null;
  count: number;
  total_ns: number;
  deviation_ns: number | null;
}

/**
 * Groups that are alike: same op, outermost op, site, call, direction, user range, module and source line.
 * op, outer_op: None for a call outside any recorded op. call: the group's calls as written, "cudaMemcpyAsync +
 * cudaStreamSynchronize". kind: sync, pageable_copy, copy, allocator. direction: of the group's copy as in CopyRow,
 * None where nothing is copied. phase, site as in SiteRow. source: "train.py(5):
 * step", the innermost frame outside torch, None without stacks. forward_*: for work of the backward pass the op,
 * module and line of the forward pass that made it, None elsewhere or where it is not known.
 * count, blocked_ns, bubble_ns: per step, means over the steps; bubbles are disjoint. device: whose bubble it is.
 * worst_*: the costliest one, from its start to the end of its bubble. bytes: copied per step, None where nothing is
 * copied. collective: what ranks exchange just before, and the call waits for: "all-reduce"; None of most. reads: of
 * the ops around the call the outermost that reads values or sizes of results, such as aten::allclose within a
 * model's own op; None where none does.
 */
export interface BlockingRow {
  op: string | null;
  outer_op: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  site: string;
  call: string;
  kind: "allocator" | "copy" | "pageable_copy" | "sync";
  direction: string | null;
  user_range: string | null;
  module: string | null;
  source: string | null;
  forward_op: string | null;
  forward_module: string | null;
  forward_source: string | null;
  count: number;
  blocked_ns: number;
  bubble_ns: number;
  bytes: number | null;
  device: number;
  worst_step: string;
  worst_start_ns: number;
  worst_end_ns: number;
  collective: string | null;
  reads: string | null;
}

/** What would have to become faster first. */
export type Bound = "communication" | "cpu" | "dependency" | "gpu" | "host" | "input" | "mixed" | "sync" | "unknown";

/**
 * Events as columns of equal length, ordered by track, row and start.
 * start_ns is relative to the window's start. Events too narrow to see are merged into one box: count says how many,
 * name is that of the longest of them. event: the number to ask for one event's details; of several, the longest.
 * name: place in `names`; colour: place in `colours`.
 */
export interface Boxes {
  track: number[];
  row: number[];
  start_ns: number[];
  length_ns: number[];
  name: number[];
  colour: number[];
  count: number[];
  event: number[];
}

export interface BubblePiece {
  row: number;
  cause: "imbalance" | "ordering" | "schedule" | "transfer";
  from_ns: number;
  to_ns: number;
}

/**
 * Whether waits come in bursts, for the longest epoch; ns are means.
 * workers: their number according to the period; None with why. workers_from: the evidence ("stacks": in summaries of
 * earlier releases). period: the distance of similar waits, in batches; autocorrelation: of waits that far apart.
 * long_wait_ns: of the worker with the most waiting; short_wait_ns: the time for a prefetched batch, the tenth
 * percentile of the other waits, None if these are not much shorter. production_ns: one worker's time for one batch;
 * spread_ns: its standard deviation; consumer_ns: the step without exposed waits, per batch.
 */
export interface Burst {
  consumer_ns: number;
  waits: BurstStep[];
  workers: number | null;
  workers_from: "period" | "stacks" | null;
  period: number | null;
  autocorrelation: number | null;
  long_wait_ns: number | null;
  short_wait_ns: number | null;
  production_ns: number | null;
  spread_ns: number | null;
  why: Reason | null;
}

/** A wait in the order of the batches: its step, its length, and whether it is one of the long ones. */
export interface BurstStep {
  step: string;
  wait_ns: number;
  long: boolean;
}

/**
 * How busy [start_ns, end_ns) was, in bins of equal length: bin i begins at start + i x length // bins.
 * of: the GPUs or, in a recording without one, the host. busy_ns: of each bin, summed over the devices. kernels: that
 * begin in each bin; most: the names with most time of these, longest first.
 */
export interface BusyBins {
  start_ns: number;
  end_ns: number;
  of: "gpu" | "host";
  devices: number;
  busy_ns: number[];
  kernels: number[];
  most: KernelsNamed[];
}

/**
 * What a card rests on, whatever the trace. id: that of the card; fires: when it appears; answers: by question, in
 * the order of QUESTIONS, then what came of it where it was followed. The texts hold code in backticks.
 */
export interface CardMeaning {
  id: string;
  fires: string;
  answers: Record<string, string>;
}

/**
 * Every label, unit and definition that the tab shows; the only source of tooltips and table heads.
 * metrics can be measured of any span and step; figures are what else a view shows; more_is_better: metrics of which
 * the least is the worst. reasons: code -> template, the words of every Reason; idle_reasons: why a GPU is idle, in
 * the order of IdleNs. bounds: a verdict (Bound) as an adjective; causes: why the host pauses; phases: of a step, in
 * their order; kernel_bins: of kernel time, by tensor cores; production_parts: of a batch; memory_parts: kinds of
 * memory; limits: what limits a worker; roles: what process groups exchange for; amd_labels: by id of a view, metric
 * or bin what it is called on an AMD GPU; cards: what each card rests on in any trace; terms: what is explained where
 * it stands in a sentence.
 */
export interface Catalogue {
  version: string;
  metrics: Metric[];
  figures: Metric[];
  more_is_better: string[];
  parts: PartMeaning[];
  reasons: Record<string, string>;
  idle_reasons: PartMeaning[];
  bounds: Record<string, string>;
  causes: Record<string, string>;
  phases: Record<string, string>;
  kernel_bins: BinMeaning[];
  production_parts: PartMeaning[];
  memory_parts: PartMeaning[];
  limits: Record<string, string>;
  roles: Record<string, string>;
  views: ViewMeaning[];
  amd_labels: Record<string, string>;
  cards: CardMeaning[];
  terms: Term[];
}

/** count: allocations; 0 of what was there before the recording. */
export interface CategoryBytes {
  category: "activations" | "before_recording" | "gradients" | "inputs" | "optimizer_state" | "parameters" | "temporary" | "unknown";
  bytes: number;
  count: number;
}

/**
 * Why a rank is late. own_ns, others_ns: what it takes a step in this, and the median of the other ranks; metric:
 * of the catalogue, None where it is about kernels. name: of the kernel or op that shows it most, None for none.
 * share: excess of own over others / what this rank makes another wait a step. factor: how many times longer the same
 * kernels take on it (slower_kernels), how much more work it has (more_work), or how many times as much as the others
 * it exchanges in all-to-alls (more_received); else None. cpu_interrupted,
 * gpu_interrupted: most of the excess is in calls or kernels that take far longer than others like them. tokens,
 * others_tokens: what its experts receive a step, and the median of the other ranks (more_received); None where the
 * trace does not tell.
 */
export interface Cause {
  id: "allocator" | "blocking" | "copies" | "cpu_interrupted" | "cpu_work" | "data_loading" | "gpu_interrupted" | "host" | "more_received" | "more_work" | "python" | "slower_kernels" | "unknown";
  own_ns: number;
  others_ns: number;
  share: number;
  metric: string | null;
  name: string | null;
  factor: number | null;
  tokens: number | null;
  others_tokens: number | null;
}

/**
 * An experiment. parts_ns: of its mean step, to which they sum. work: the same number where the same work is done.
 * from_first, from_previous: against the first of these, and against the one before; None of the first one itself.
 */
export interface ChainLink {
  name: string;
  simulated: boolean;
  steps: number;
  step_ns: number;
  parts_ns: Parts;
  work: number;
  from_first: StepChange | null;
  from_previous: StepChange | null;
}

/** Experiments in the order of recording. Simulated ones form a chain of their own after all others. */
export interface ChainPage {
  links: LinkOfChain[];
}

/** Means per step; gain_ns: at most. site, ops: of the chain with the most time, the first distinct ops. */
export interface ChainsOfKind {
  kind: "elementwise" | "layer_norm" | "rms_norm" | "rotary";
  site: KernelSite;
  ops: string[];
  chains: number;
  kernels: number;
  total_ns: number;
  gain_ns: number;
}

/** From `span` on, `metric` of this run and worker is `after` and no longer `before` (medians over steps). */
export interface Change {
  metric: string;
  run: string;
  worker: string;
  span: number;
  before: number;
  after: number;
  text: Phrase;
}

/** more: how many rows of smaller changes are left out. */
export interface ChangeTable {
  of: "blocking" | "copies" | "kernels" | "ops";
  rows: RowChange[];
  more: number;
}

/** The steady step after a set of changes. device_curve: as that of `WhatIf`, with fewer points. */
export interface ChangedStep {
  ids: string[];
  device_curve: number[];
}

/** An op; None: outside of ops. Means per step; largest_bytes: of one allocation. */
export interface ChurnRow {
  op: string | null;
  count: number;
  bytes: number;
  largest_bytes: number;
}

/**
 * Whether times of different ranks can be shown beside each other. residual_ns: by how much ends of collectives
 * that end together still differ in 19 of 20 cases, once offsets are taken off. reason: why times are not shown, and
 * then no offset is given; None where they are.
 */
export interface Clocks {
  residual_ns: number | null;
  reason: Reason | null;
}

/**
 * One line; sums over the steps.
 * source           "train.py(54): step"
 * calls            how often the function is called; None where lines are those of calls
 * host_self_ns     on the thread that trains, Python's own time included
 * host_total_ns    with what the line calls; a line that calls itself counts once
 * device_ns, ...   of what it launches; idle_ns: how long devices had nothing to do until that began, waits for
 * batches left out; None where nothing ran on a device
 * allocated_bytes  freed or not, on the GPUs, or on the CPU where no GPU's were recorded; None where none were
 */
export interface CodeLine {
  source: string;
  calls: number | null;
  host_self_ns: number;
  host_total_ns: number;
  device_ns: number | null;
  launches: number | null;
  idle_ns: number | null;
  allocated_bytes: number | null;
}

/** Sums over the steps, ns and bytes, as those of a `CodeLine`. */
export interface CodeLineSums {
  host_self_ns: number;
  device_ns: number | null;
  launches: number | null;
  idle_ns: number | null;
  allocated_bytes: number | null;
}

/**
 * Collectives of one kind in one group of ranks; means over the steps, per step.
 * kind: in KIND_LABELS, label: what it is called. group, ranks, dtype: None where the trace does not say, and in the
 * row of what is too much for rows of its own. bytes: of all of a step, best_rate: the most bytes a second of one;
 * None where the bytes of one are not recorded.
 * running_ns: one of them runs, waits for other ranks included; longest_ns: the longest of all steps. exposed_ns: no
 * computation runs beside them; wait_ns: est. how much of that waits for other ranks, None without a GPU, where ranks
 * share the processor; compute_stream_ns: how much of it is on a stream that the model computes on; forward_ns: how
 * much of it the model's forward pass launched, as layers do that are split over ranks; early_ns: how much of it a
 * later pass before the same optimizer step could exchange too, less est. waits.
 */
export interface CollectiveRow {
  kind: string;
  label: string;
  group: string | null;
  ranks: number | null;
  dtype: string | null;
  count: number;
  bytes: number | null;
  best_rate: number | null;
  running_ns: number;
  longest_ns: number;
  exposed_ns: number;
  wait_ns: number | null;
  compute_stream_ns: number;
  forward_ns: number;
  in_a_row: InARow | null;
  early_ns: number;
}

/** A step in ns after several changes; None where too much is unexplained. */
export interface Combined {
  ids: string[];
  step_ns: number | null;
}

/**
 * What the mean step exchanges, in its judged time. rows: most exposed first; their exposed_ns sum to exposed_ns.
 * left_out_ns: the rest of the step's part "communication", in work from before the recording, or where without a GPU
 * ops run.
 * wait_ns: est., of all steps; steady_wait_ns: of those after the first, in which ranks wait for each other's profiler
 * to start; None of fewer than FEWEST_STEPS.
 * running_ns: time in which a collective runs; computing_ns: in which the model computes, free_compute_ns: and no
 * collective runs.
 * examples: the longest exposed ranges; waits: the collectives with the longest est. waits. reducer: None without
 * DistributedDataParallel, and where it does nothing else than exchange. passes: after how many backward passes it
 * exchanges the same gradients before one step of an optimizer, at most; 0 where once.
 */
export interface Communication {
  running_ns: number;
  exposed_ns: number;
  left_out_ns: number;
  wait_ns: number;
  steady_wait_ns: number | null;
  computing_ns: number;
  free_compute_ns: number;
  rows: CollectiveRow[];
  examples: Evidence[];
  waits: Evidence[];
  reducer: Reducer | null;
  passes: number;
}

/**
 * One run compared with another. headline names both as {base} and {candidate}. below: how sure the headline is, or
 * which part changed most; None where neither is known. labels: labels of waterfall rows by id, except for modules,
 * ops and kernels, whose id is their name. changes: the changes that were detected in the candidate. residuals: for
 * each prediction, why the measured gain differs from it. scaling: compares all ranks of the two runs, where one of
 * them has several.
 */
export interface ComparePage {
  headline: Phrase;
  below: Phrase | null;
  comparison: Comparison;
  warnings: NoteText[];
  labels: Record<string, string>;
  changes: Record<string, string>;
  residuals: Phrase[];
  base: ComparedSpans;
  candidate: ComparedSpans;
  scaling: Phrase | null;
}

/**
 * What is compared of a span. Sums of kernels and ops are those of its whole steps.
 * phases: labels, in order. kernels: of the main device, by where they come from; more_kernels_ns: those of all other
 * places. ops: on the host. blocking, copies: by where they come from. All empty in a summary of a release that did
 * not compare. known_products: of the time of the main device's products, that of those whose operations are known;
 * None where there are none.
 */
export interface CompareResult {
  setup: Setup;
  steps: ComparedStep[];
  phases: string[];
  kernels: LaunchPlace[];
  more_kernels_ns: number;
  ops: OpTime[];
  blocking: BlockingPlace[];
  copies: CopyPlace[];
  known_products: number | null;
}

/** The spans of one side of a comparison: ids, in time order. */
export interface ComparedSpans {
  run: string;
  worker: string;
  spans: string[];
}

/** A step. whole: it is compared. phases_ns: in the order of CompareResult.phases; they sum to the step. */
export interface ComparedStep {
  name: string;
  whole: boolean;
  phases_ns: number[];
}

/**
 * base, candidate: names of the sides. waterfalls: the first one is by part. tables: those that have a row.
 * figures: those that a side has. same_work: as far as it is known. changes: what the candidate does otherwise, as far
 * as the traces show it; predictions: of cards that advise it. Both are empty where the two do not do the same work.
 */
export interface Comparison {
  base: string;
  candidate: string;
  step: StepChange;
  waterfalls: Waterfall[];
  tables: ChangeTable[];
  figures: FigureChange[];
  same_work: boolean;
  changes: ("allocator" | "channels_last" | "compiled" | "fused_attention" | "gradient_buckets" | "graphs" | "half_on_cpu" | "half_precision" | "item_removed" | "non_blocking" | "optimizer" | "pinned_memory" | "smaller_batches" | "syncs_removed" | "tensor_cores" | "tf32" | "workers" | "zero_gradients")[];
  predictions: Prediction[];
  warnings: Note[];
}

export type Confidence = "high" | "low" | "medium";

/** A part of the mean step on both sides, ns. low, high: interval of the change, None where it is not known. */
export interface Contribution {
  id: string;
  base_ns: number;
  candidate_ns: number;
  low: number | null;
  high: number | null;
}

/** Means per step. op: the op that requests most of the copies; site: of the copies with the most time. */
export interface CopiesOfKind {
  kind: "assignment" | "concatenation" | "layout" | "type";
  op: string;
  site: KernelSite;
  count: number;
  total_ns: number;
}

/**
 * Copies of one way from one place, as in `CopyRow`. Sums over the compared steps. op: the outermost, or the named
 * range around it; bytes: None if they are not all recorded; deviation_ns: the standard deviation of their time per
 * step, None if there is one step.
 */
export interface CopyPlace {
  direction: string;
  source: string;
  target: string;
  op: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  count: number;
  total_ns: number;
  bytes: number | null;
  deviation_ns: number | null;
}

/**
 * Bytes per second of the recorded copies between host and GPU of 1 MB or more; from pinned memory, where some are.
 * A direction without such copies has the rate of the other one.
 */
export interface CopyRates {
  to_device: number;
  to_host: number;
  pinned: boolean;
}

/**
 * Copies of one direction between two kinds of memory, by the activity's name; means per step.
 * name: "HtoD"; source, target: "Pageable", "Pinned", "Device"; pageable: one of the two is. bytes_per_second: over
 * the copies' own time, None if bytes are not recorded. hidden_ns: time in which a kernel runs too. op: the outermost
 * op (or the range) that makes most of them.
 */
export interface CopyRow {
  direction: string;
  source: string;
  target: string;
  pageable: boolean;
  count: number;
  total_ns: number;
  hidden_ns: number;
  bytes: number | null;
  bytes_per_second: number | null;
  blocked_ns: number;
  op: string | null;
}

/** The step after some cards: parts_ns sums to duration_ns. */
export interface CouldBe {
  duration_ns: number;
  parts_ns: Parts;
}

/**
 * Ops of one kind. self_ns: in the mean step. usual_ns: of a step in which each op takes its lower median time; op:
 * the one with the most of it, op_ns. calls: in the mean step. dimensions: along which filters of
 * convolutions move for most of the time, 2 for images; None if not recorded.
 */
export interface CpuGroup {
  id: "attention" | "compiled" | "compiling" | "convolution" | "matmul" | "other" | "random" | "reading" | "recurrent" | "unfused";
  self_ns: number;
  usual_ns: number;
  op: string;
  op_ns: number;
  calls: number;
  dimensions: number | null;
}

/**
 * An op on the CPU, means per step. self_ns: its time without that of ops inside it, added up over the threads.
 * usual_ns: that of a step in which each call takes its lower median time, which one interruption does not increase.
 * dtype: the type of the first input in most of that time, as torch writes it; None if not recorded. allocated_bytes:
 * on the CPU, without the ops inside it, whether or not freed; None if memory was not recorded.
 */
export interface CpuOpRow {
  op: string;
  calls: number;
  self_ns: number;
  usual_ns: number;
  dtype: string | null;
  allocated_bytes: number | null;
}

/**
 * The work inside the optimizer's marks, in the mean step. fused: one op does the whole update of a parameter.
 * name: the class, from the marks. usual_ns: of a step in which each op takes its lower median time, which another
 * process that takes the core does not increase; pass_ns: the part of it in the op that writes the parameters, in one
 * pass over them and their states. between_ns: Python between the ops of an update, in lower median over the steps,
 * without long gaps.
 */
export interface CpuOptimizer {
  name: string;
  self_ns: number;
  usual_ns: number;
  pass_ns: number;
  between_ns: number;
  calls: number;
  fused: boolean;
}

/**
 * ops: most time first; their self_ns and rest_ns, that of all others, sum to ops_ns. groups: all but the
 * optimizer's ops; optimizer is None if none is marked. step_ns: the mean step without one-time work; busy_ns: the
 * part of it in which any op runs. threads: number that run ops; cores: of the machine, None if no recorder has it.
 * double_backward: gradients are differentiated, too.
 */
export interface CpuWork {
  ops: CpuOpRow[];
  groups: CpuGroup[];
  optimizer: CpuOptimizer | null;
  rest_ns: number;
  ops_ns: number;
  busy_ns: number;
  step_ns: number;
  threads: number;
  cores: number | null;
  double_backward: boolean;
}

/**
 * Columns of equal length: the most in use, and the most reserved, of each of equal groups of entries. time_us: of
 * the first of each group, from that of the oldest entry.
 */
export interface Curve {
  time_us: number[];
  in_use_bytes: number[];
  reserved_bytes: number[];
}

/**
 * Prediction for this number of workers: step_ns, a mean step of the same span; loader_ns: a step's batches,
 * production / workers each.
 */
export interface CurvePoint {
  workers: number;
  step_ns: number;
  loader_ns: number;
}

/**
 * unknown says why no waits are known (no loader events); all figures are then None or empty, but what a recorder
 * knows of a loader that another thread reads.
 * main_loader: the row of loaders that is waited for most, see `most_waited`. These are of it: multiprocess, None
 * where the iterator's name does not say; batch_ns, what one process needs for one batch; consumer_ns: what the steps
 * take without late batches, per batch; batches_per_step; needed_workers; why_unknown: why there is no number of
 * workers and no curve; burst: of a multi-process loader.
 * recorded: None without a recorder's files; recorder_notes: of files that were not used, too.
 */
export interface DataLoadingResult {
  unknown: Reason | null;
  iterators: string[];
  main_loader: number | null;
  multiprocess: boolean | null;
  steps: LoaderStep[];
  mean: LoaderStep | null;
  batch_ns: number | null;
  consumer_ns: number | null;
  batches_per_step: number | null;
  needed_workers: number | null;
  why_unknown: Reason | null;
  tiles: Series[];
  activities: LoaderActivities | null;
  lanes: LaneWindow | null;
  loaders: LoaderRow[];
  causes: WaitCauses | null;
  burst: Burst | null;
  curve: WorkerCurve | null;
  recorded: Recorded | null;
  recorder_notes: Note[];
}

/**
 * What decides how long a step is, followed back from the end of its slowest rank through all matched collectives
 * to the rank that arrived last at each: mean of so many steps, ns.
 * work_ns + transfer_ns + late_ns of all ranks = step_ns. work_ns: a rank's own time that it is not late by: kernels,
 * idle time that all ranks have, and what is exchanged in other ways. ranks: most late first, one may be several
 * times on the path.
 */
export interface DecidingPath {
  steps: number;
  step_ns: number;
  work_ns: number;
  transfer_ns: number;
  ranks: PathRank[];
}

/** Queue depth in bins of the window: mean in thousandths, and peak. */
export interface Depth {
  bin_ns: number;
  mean_permille: number[];
  peak: number[];
}

/** A device's figures over the span's window, fractions; None where not measurable (the tiles give the reason). */
export interface DeviceFigures {
  device: number;
  name: string;
  utilization: number | null;
  est_sm_efficiency: number | null;
  est_achieved_occupancy: number | null;
  kineto_achieved_occupancy: number | null;
}

/**
 * What would fit of a device; batch, lines and all that rests on them are None with `unknown`.
 * lines: the peak at any batch is that of the highest. limit_bytes: asked for, else what the device has; None where
 * neither is known. largest: the largest batch within it, with the least and the most that the margin allows; 0: not
 * even one sample fits. modules: what fills the peak, by what made it; unnamed: why no module names it. settings: what
 * would change the peak. unused_bytes: what the caching allocator had reserved besides at the recorded peak, as
 * fragments and cache; None without one. rates: at which the recording copied between host and this device; None where
 * it did not, and for the CPU.
 */
export interface DeviceFit {
  device: string;
  unknown: Reason | null;
  batch: number | null;
  lines: PeakLine[];
  peaks: BatchFit[];
  limit_bytes: number | null;
  largest: number | null;
  largest_low: number | null;
  largest_high: number | null;
  modules: ModuleBytes[];
  unnamed: Reason | null;
  settings: FitSetting[];
  unused_bytes: number | null;
  rates: CopyRates | null;
}

/**
 * One device. tiles: figures of the window and its steps, and behind them shares that the GPU measured of itself,
 * where these were sampled. split: its kernel time, of which every table is a
 * grouping: rows and the rest sum to split.kernel_ns. Those by line are there where call stacks are
 * recorded, kernels of modules where modules are.
 * idle, roofline: None in a summary of before they were measured. kineto_zero_fraction:
 * share of kernel time for which Kineto wrote an occupancy of 0 that cannot be.
 */
export interface DeviceGpu {
  device: number;
  name: string;
  sm_count: number | null;
  tiles: Series[];
  time_bins: MetricLevels[];
  idle: IdleTime | null;
  split: Split;
  kineto_zero_fraction: number | null;
  tables: KernelGrouping[];
  details: KernelDetail[];
  roofline: Roofline | null;
}

/**
 * more_bytes, more_reserved_bytes: increase of memory in use and reserved at the end over the earlier snapshot.
 * lines: those whose memory differs, the largest changes first.
 */
export interface DeviceGrowth {
  device: number;
  more_bytes: number;
  more_reserved_bytes: number;
  lines: LineGrowth[];
}

/** One device. steps: its idle time by reason, per step; mean: mean over the steps; busy_ns per step. */
export interface DeviceIdle {
  device: number;
  name: string;
  busy_ns: number[];
  steps: IdleNs[];
  mean: IdleNs;
}

/**
 * One resolution, one entry per bin from the window's start on, in thousandths of the bin: computing kernels,
 * collectives where no kernel computes, copies where no kernel runs. run_ahead_ns: mean over the activities that start
 * in the bin, None where none does.
 */
export interface DeviceLevel {
  bin_ns: number;
  kernel_permille: number[];
  communication_permille: number[];
  copy_permille: number[];
  run_ahead_ns: (number | null)[];
}

/**
 * A device whose memory was recorded. device: its number, None for the CPU; type: torch's number of its kind.
 * whole: allocated is all that the device has; False where the file has no totals: then it counts from the first
 * event, and categories, rows and makers are not known. categories: what is alive at the peak; they sum to it; None
 * with why_unknown. largest: of these, most bytes first. step_peaks: of each step. by_op: over the recording. fit: the
 * peak at other batches, and the largest that fits into total_bytes.
 */
export interface DeviceMemory {
  type: number;
  device: number | null;
  name: string;
  events: number;
  whole: boolean;
  start_bytes: number;
  end_bytes: number;
  peak: MemoryPeak;
  reserved_peak: MemoryPeak | null;
  step_peaks: number[];
  growth: Growth;
  makers: Maker[];
  categories: CategoryBytes[] | null;
  why_unknown: Reason | null;
  largest: AllocationRow[];
  churn: ChurnRow[];
  by_op: OpMemory[];
  curve: MemoryBins;
  total_bytes: number | null;
  fit: DeviceFit | null;
}

/**
 * One device. Bytes in use are as they were asked for; reserved ones are those of segments.
 * entries, first_us, last_us: what the snapshot remembers, in us since 1970; None where times are not recorded.
 * releasable_bytes: of segments without a block in use; kept_bytes: other free memory, in so many pieces;
 * rounding_bytes: what blocks in use are larger than what was asked for. In use, releasable, kept and rounding sum to
 * reserved. peak_by_category: sums to the peak in use.
 */
export interface DeviceSnapshot {
  device: number;
  entries: number;
  first_us: number | null;
  last_us: number | null;
  peak_in_use_bytes: number;
  peak_reserved_bytes: number;
  peak_us: number | null;
  in_use_bytes: number;
  reserved_bytes: number;
  releasable_bytes: number;
  kept_bytes: number;
  kept_pieces: number;
  kept_largest_bytes: number;
  rounding_bytes: number;
  peak_by_line: LineRow[];
  fragmented: SegmentRow[];
  out_of_memory: OutOfMemory[];
  curve: Curve;
  peak_by_category: CategoryBytes[];
}

/**
 * A device's kernels over the span. total.kernel_ns = sum of the four. The share is in [share_low, share_high],
 * unless `unclassified` says that so much kernel time is of unknown kernels that the range tells nothing.
 * profiler_tab_share is what the PyTorch Profiler tab counts, profiler_tab_why why it differs (None: it does not).
 * Rows are the kernels with most time, `more` folds the rest. ops and phases split the same kernels, to the same
 * total. Opportunities are what makes up matmul_like_ns, most gain first; opportunities_more folds the rest, and
 * obstacles sums all of them by why they are none yet. Gains are over the span, at most.
 * waste is per step. rates: how fast products run on tensor cores; None in summaries of before it was measured.
 */
export interface DeviceSplit {
  device: number;
  name: string;
  total: Split;
  share_low: number | null;
  share_high: number | null;
  matmul_like_share: number | null;
  profiler_tab_share: number | null;
  profiler_tab_why: Reason | null;
  steps: SplitStep[];
  kernels: KernelRow[];
  more_count: number;
  more_kernels: number;
  more_ns: number;
  ops: OpSplit[];
  phases: PhaseSplit[];
  opportunities: Opportunity[];
  obstacles: Obstacle[];
  opportunities_more_count: number;
  opportunities_more_ns: number;
  opportunities_more_gain_ns: number;
  waste: LaunchWaste;
  rates: ProductRates | null;
  unclassified: number | null;
}

/**
 * Means per step. site: of the softmax with the most time; its shapes are those of the weights.
 * calls       softmaxes, forward and backward
 * softmax_ns  of their kernels; other_ns: of scale, mask and dropout between the products
 * written_out share of those of the forward pass that torch's own op wrote out, as no fused kernel took the inputs
 */
export interface EagerAttention {
  site: KernelSite;
  calls: number;
  softmax_ns: number;
  other_ns: number;
  written_out: number;
}

/**
 * The starts of epochs of all loaders in the span's steps. batches: first ones of an epoch, or of a pass such as an
 * evaluation; wait_ns: mean wait for one; exposed_ns: in the mean step, including the marks that end an epoch;
 * setup_ns: also in the mean step, but no wait: the time in which new iterators are set up. respawned: worker
 * processes start again for each epoch; produced_ns: mean production of these batches; both None where no recorder
 * says so. steps: number of steps that wait for these batches.
 */
export interface EpochStarts {
  batches: number;
  wait_ns: number;
  exposed_ns: number;
  setup_ns: number;
  respawned: boolean | null;
  produced_ns: number | null;
  steps: string[];
}

/**
 * One event. why_gap: why the device was idle before it (device events only; None: it was not idle, or the reason
 * is not known); gap_start_ns: where that idle time begins.
 * name: as the trace has it; short_name: as it is written on its box. kind: what it is ("GPU kernel"); on: the track.
 */
export interface EventDetail {
  event: number;
  name: string;
  short_name: string;
  kind: string;
  on: string;
  track: number;
  row: number;
  start_ns: number;
  end_ns: number;
  facts: EventFact[];
  links: EventLink[];
  gap_start_ns: number | null;
  why_gap: Phrase | null;
}

/** copied: what a press copies, such as the whole path of a file; None where the value is not worth it. */
export interface EventFact {
  label: string;
  value: Quantity;
  copied: string | null;
}

/**
 * Another event that this one is tied to: its launch call, the work that it launched, the op around it. row: -1
 * for a Python frame that is folded away.
 */
export interface EventLink {
  role: string;
  event: number;
  name: string;
  track: number;
  row: number;
  start_ns: number;
  end_ns: number;
}

/** A time range that shows something, relative to the span's origin, and the step in which it begins. */
export interface Evidence {
  step: string;
  start_ns: number;
  end_ns: number;
}

/**
 * The row of a view's table that shows it. key: what that table tells its rows apart by (a site, an op, a step, a
 * kernel's short name, the start of the worst call).
 */
export interface EvidenceRow {
  table: string;
  key: string;
}

/** An op, call, range or kernel, and what of the excess is in it; None: in Python code between ops. */
export interface ExcessName {
  name: string | null;
  ns: number;
}

/**
 * How much longer each kind of excess makes a step, ns; disjoint. With the steady step, all but unknown sum to the
 * step: what is not known to be excess is a part of the steady step.
 */
export interface ExcessNs {
  once: number;
  interrupted: number;
  periodic: number;
  profiler: number;
  edge: number;
  unknown: number;
}

/**
 * Excess of one kind over the steps. total_ns: what steps are longer by; count: of calls; step, start_ns, end_ns:
 * of the longest; names: with most of it, most first.
 */
export interface ExcessRow {
  kind: "edge" | "interrupted" | "once" | "periodic" | "profiler" | "unknown";
  total_ns: number;
  count: number;
  step: string;
  start_ns: number;
  end_ns: number;
  names: ExcessName[];
}

/**
 * Collectives that exchange alike. group: place in Exchanges.groups; bytes, dtype: None where not recorded; site:
 * id of the place in the step that launches them ("backward.hooks"), "unknown" without a launch; wrapper: "fsdp" where
 * a range of FSDP launches them, else "". peer: of a send or receive the rank at the other side, None where not
 * recorded; sends: it is a send; batched: it is several messages in one kernel, and with several ranks peer is None.
 * rows_sent, rows_received: rows of an all-to-all, of width elements each; all three None where not recorded.
 */
export interface ExchangeClass {
  kind: string;
  group: number | null;
  bytes: number | null;
  dtype: string | null;
  site: string;
  wrapper: string;
  peer: number | null;
  sends: boolean;
  batched: boolean;
  rows_sent: number | null;
  rows_received: number | null;
  width: number | null;
}

/**
 * A process group. size: ranks, None where not recorded; description: what its maker calls it, "" for nothing;
 * ranks: empty where the file does not list them.
 */
export interface ExchangeGroup {
  name: string;
  size: number | null;
  description: string;
  ranks: number[];
}

/**
 * What the matched collectives take a step, ns, as a mean over ranks and matched steps. exposed_transfer_ns,
 * exposed_wait_ns: time of transfers, and of waits for the last rank, that no computation hides; hidden_ns: beside
 * computation. exposed_stall_ns: of exposed_transfer_ns, what calls take beyond the usual length, and nothing recorded
 * says why. free_compute_ns: computing time of the median rank less hidden_ns, which could hide more.
 */
export interface ExchangeTime {
  exposed_transfer_ns: number;
  exposed_stall_ns: number;
  exposed_wait_ns: number;
  hidden_ns: number;
  free_compute_ns: number;
}

/**
 * Collectives that the steps launched, in the order of steps and of start; each column has one entry per
 * collective.
 * of: place in classes; step: place among the steps of the span; start: relative to the span's origin, us; length,
 * exposed (the part beside which no computation runs, in the judged time): ns. exposed is -1 if it equals the length.
 * sequence: how many collectives of its group came before, -1 where not recorded; empty if none is recorded. left_out:
 * collectives of later steps, which are not kept.
 */
export interface Exchanges {
  groups: ExchangeGroup[];
  classes: ExchangeClass[];
  of: PackedColumn;
  step: PackedColumn;
  start: PackedColumn;
  length: PackedColumn;
  exposed: PackedColumn;
  sequence: PackedColumn;
  left_out: number;
}

/**
 * base, candidate: None where it is not measurable on that side, for the reason `why`. base_high, candidate_high:
 * the upper end where it is only known to lie in a range, which base or candidate begin; None where it is known.
 * low, high: 95 % interval of the change; these and distinguishable are None where a side has too few steps to say.
 */
export interface FigureChange {
  metric: string;
  base: number | null;
  candidate: number | null;
  low: number | null;
  high: number | null;
  distinguishable: boolean | null;
  why: Reason | null;
  base_high: number | null;
  candidate_high: number | null;
}

/**
 * values fill the places in its sentences. count: how many rows, calls or marks are affected; share: their share of
 * all, 0 to 1, None where that makes no sense. ranges: where to look in time, ns from the recording's origin, the
 * longest first, `MOST_RANGES` at most.
 */
export interface Finding {
  id: string;
  done: "left_out" | "repaired" | "said";
  affects: ("gpu_time" | "host_time" | "launches" | "memory" | "recurrence" | "steps")[];
  trust: "high" | "low" | "medium" | "none";
  count: number | null;
  share: number | null;
  values: Record<string, Quantity>;
  ranges: [number, number][];
}

/**
 * A finding as it is shown. label: what was done about it ("Repaired", "Left out", "Note"), or "Trust" for what the
 * findings leave of the confidence; cause: the finding; effect: what it touches, with figures; evidence: where to look
 * in the timeline, the longest range first.
 */
export interface FindingText {
  id: string;
  label: string;
  cause: Phrase;
  effect: Phrase;
  evidence: Evidence[];
}

/**
 * At the recorded batch. label: what is set; code: how, None as recorded.
 * peak_bytes, low_bytes, high_bytes: est. but as recorded; None with `unknown`. again_ns: computed again per step,
 * with what a checkpoint's own Python takes of a CPU; copied_bytes: between GPU and host per step, both directions;
 * copy_ns: what that takes at the recorded rates; None where none is known or nothing is copied. step_ns: the mean
 * steady step and these; None with `no_time`. largest: the largest batch within the limit; None where none is known.
 * best: no other setting of known time needs less memory or time, and none more of the other.
 */
export interface FitSetting {
  label: string;
  code: string | null;
  peak_bytes: number | null;
  low_bytes: number | null;
  high_bytes: number | null;
  again_ns: number | null;
  step_ns: number | null;
  largest: number | null;
  best: boolean;
  unknown: Reason | null;
  no_time: Reason | null;
  copied_bytes: number | null;
  copy_ns: number | null;
}

/**
 * Call paths folded over the steps. Each column is a text of whole numbers with commas between, one per frame: a
 * parent comes before its children, the first is the whole. The tab reads a text many times as fast as a list, and
 * only the columns that it draws.
 * smallest          frames below 1/smallest of the whole are merged
 * parent            place; -1 of the whole
 * label             place in kinds and names
 * merged            how many frames a frame of kind "smaller" stands for; 0 for others
 * calls             how often it was called in the steps; 0 where that is not known
 * device_ns, ...    of the frame and all below it; None where the trace does not tell
 */
export interface FlamePage {
  by: "module" | "op" | "stack";
  where: "made" | "ran";
  smallest: number;
  kinds: ("all" | "collective" | "copy" | "kernel" | "module" | "op" | "outside" | "python" | "runtime" | "smaller")[];
  names: string[];
  parent: string;
  label: string;
  merged: string;
  calls: string;
  host_ns: string;
  device_ns: string | null;
  idle_ns: string | null;
  allocated_bytes: string | null;
}

/** kinds: those with the most gain first. compiled: the device runs kernels that a compiler generated. */
export interface FusibleChains {
  kinds: ChainsOfKind[];
  compiled: boolean;
}

/**
 * What one change gains per step, ns.
 * gain_ns        replay of the step less replay of the changed step; None where too much is unexplained
 * low_ns, high_ns  with and without each inferred kind of edge, and wider by the share by which the replayed step
 * differs from the recorded one, and by what is unexplained if that is more than 5 %
 * gain_after_ns  what it gains after the changes that are listed before it
 * rests_on       inferred kinds of edges whose absence moves the gain by more than 5 % of the step
 */
export interface Gain {
  id: string;
  gain_ns: number | null;
  low_ns: number | null;
  high_ns: number | null;
  gain_after_ns: number | null;
  rests_on: string[];
}

/** start_ns, end_ns: the window of all figures. unknown says why there is no device. */
export interface GpuResult {
  unknown: Reason | null;
  start_ns: number;
  end_ns: number;
  steps: TimelineStep[];
  devices: DeviceGpu[];
}

/**
 * A process group. ranks: its members among the job's ranks, ascending; size: as recorded, None where it is not.
 * role: what it exchanges for; shown_by: what of its collectives shows that, as a reason's code.
 */
export interface GroupRow {
  name: string;
  size: number | null;
  ranks: number[];
  role: "buffers" | "checks" | "ddp" | "expert_parallel" | "fsdp" | "pipeline" | "tensor_parallel" | "unknown";
  shown_by: Reason;
}

/**
 * first, last: how many nodes the backward pass of the first and the last step has; first_step, last_step: their
 * names; more: how many each step adds. excess_ns: the mean step above the first one.
 */
export interface GrowingGraph {
  first: number;
  last: number;
  first_step: string;
  last_step: string;
  more: number;
  excess_ns: number;
}

/**
 * A slow step, and what is longer in it than in the median of the others, most first. excess_ns: step time above
 * that median.
 */
export interface Grown {
  step: string;
  start_ns: number;
  end_ns: number;
  excess_ns: number;
  grown: GrownPart[];
}

/** A segment of the step, and how much longer it is than usual. */
export interface GrownPart {
  id: string;
  label: string;
  excess_ns: number;
}

/**
 * at_step_ends: allocated at the end of each step, bytes, by the host's marks. bytes_per_step: the mean difference
 * from the first of these to the last; None with a reason. every_step: each is more than the one before.
 */
export interface Growth {
  bytes_per_step: number | null;
  reason: Reason | null;
  every_step: boolean;
  at_step_ends: number[];
}

/**
 * The top of a view: verdict is what is true, action what to do, view where the button leads, code what to type.
 * basis: what its shares are of, where that is not the mean step, or the main device is not the only one. card: the id
 * of the card that the action is of.
 */
export interface Headline {
  verdict: Phrase;
  action: Phrase | null;
  view: string | null;
  code: string | null;
  basis: Phrase | null;
  card: string | null;
}

/**
 * thread: as the system numbers it. name: the innermost function of the user's in which it spends most of that
 * time. ns: while the training's thread runs no op, mean over the steps; share: of the time without an op.
 */
export interface HeldInterpreter {
  thread: string;
  name: string;
  ns: number;
  share: number;
}

/**
 * Events as columns of equal length, in time order; of those that begin together that on the upper track first.
 * start_ns is relative to the span's origin. row: -1 for a Python frame that is folded away.
 */
export interface Hits {
  track: number[];
  row: number[];
  start_ns: number[];
  length_ns: number[];
  event: number[];
  name: string[];
}

/**
 * device: the one that is busy longest, whose figures stand for the span; None where nothing ran on a GPU, then
 * `unknown` says so, and only steps, phases and ranges of the host are measured.
 * segments sum to mean_step_ns. queue: time bins over [start_ns, end_ns), coarse to fine. blocking and copies:
 * most bubble (time) first; more_blocking: how many rows were folded away. device_levels: what the device does, in
 * the bins of the queue. figures: by metric id, what says whether the CPU limits the step. full_queue_ns: time a
 * step in which launch calls wait for room in the full queue. bucket_copies: copies a step of gradients out of the
 * buckets of DistributedDataParallel; bucket_late_ns: idle time a step until these are launched. long_gaps: by
 * place, those before which the host does one thing for long. with_stack: recorded with call stacks. cpu_unrecorded:
 * only its launch calls are in the recording. cpu: what ops compute; between_ops_ns: of the mean step, with a named
 * range and no op; python_function: which takes the time in which no op runs; python_work: functions that compute no
 * ops; outside_range: the named range that holds most of the time without an op; held_interpreter: another thread that
 * runs Python then; all where nothing ran on a GPU. recaptures: graphs that are captured again and again. recurring:
 * steps at equal distances that do more. growing: a backward pass that grows from step to step. unused_graph: nodes
 * that no backward pass runs. recomputed: what checkpoints compute again. without_cache: generation that computes all
 * earlier tokens again. anomaly: what autograd's anomaly detection costs; None where it is off. whatif: a steady step
 * replayed, as it is and after changes; None where none can be.
 */
export interface HostResult {
  unknown: Reason | null;
  start_ns: number;
  end_ns: number;
  mean_step_ns: number;
  steps: HostStep[];
  bound: Bound;
  phases: PhaseRow[];
  ranges: RangeRow[];
  with_stack: boolean;
  with_memory: boolean;
  cpu_unrecorded: boolean;
  device: number | null;
  tiles: Series[];
  segments: Segment[];
  sites: SiteRow[];
  devices: DeviceIdle[];
  launches: LaunchFigures | null;
  figures: Record<string, number>;
  full_queue_ns: number;
  queue: QueueLevel[];
  device_levels: DeviceLevel[];
  blocking: BlockingRow[];
  more_blocking: number;
  blocking_bubble_ns: number;
  copies: CopyRow[];
  several_devices: SeveralDevices | null;
  pauses: Pause[];
  one_time: OneTimeCost[];
  long_gaps: LongGaps[];
  grown: Grown[];
  bucket_copies: number;
  bucket_late_ns: number;
  cpu: CpuWork | null;
  python_function: PythonFunction | null;
  python_work: PythonWork[];
  outside_range: OutsideRange | null;
  held_interpreter: HeldInterpreter | null;
  whatif: WhatIf | null;
  recaptures: Recaptures | null;
  recurring: RecurringWork | null;
  growing: GrowingGraph | null;
  unused_graph: UnusedGraph | null;
  recomputed: Recomputed | null;
  without_cache: WithoutCache | null;
  anomaly: AnomalyChecks | null;
  between_ops_ns: number;
}

/**
 * A step. idle_ns is that of the main device by reason: it sums to duration_ns less that device's busy time.
 * launches: kernels, copies and sets that start in it. left_out_ns: what of it verdict and cards leave out.
 * phase_spans: when the host is in which phase, in time order.
 */
export interface HostStep {
  name: string;
  start_ns: number;
  end_ns: number;
  idle_ns: IdleNs;
  queue_mean: number | null;
  launches: number;
  phase_spans: PhaseSpan[];
  left_out_ns: number;
}

/**
 * Idle time by reason, ns: it sums to the idle time. The order is that of every picture.
 * blocking_call, allocator, cpu_work, nothing_recorded: the launch call had not begun, and that is what the launching
 * thread did (blocking_call also where the launching call itself waits); launch_latency: it had, and returned at most
 * 50 us ago; queued: launched before the gap began, and the gap is at most 10 us; dependency: likewise, and longer, or
 * more than 50 us after its call returned; collective_wait: likewise, and the next work is a collective;
 * unrecorded_work: the device is busy with what the trace does not show, since a launch, a synchronize or a copy takes
 * far longer than an idle device lets it take; unknown: no launch record; tail: nothing follows in this recording.
 * The last four are left out of judgement (`excluded_time`): before_recording, the device runs work from before the
 * recording; once, the host does what comes once; after_recording, the end of the recording hides what follows;
 * profiler, the profiler itself works.
 */
export interface IdleNs {
  data_loading: number;
  blocking_call: number;
  allocator: number;
  cpu_work: number;
  nothing_recorded: number;
  launch_latency: number;
  queued: number;
  collective_wait: number;
  dependency: number;
  unrecorded_work: number;
  unknown: number;
  tail: number;
  before_recording: number;
  once: number;
  after_recording: number;
  profiler: number;
}

/**
 * share: of the window. reason: that of most of the idle time, as in IdleNs, where those for which the host is late
 * are one ("host_late"); None where the device is busy. range: of a device that waits for data, the named range that
 * holds most of its other idle time; None where none holds much.
 */
export interface IdleTime {
  share: number;
  reason: string | null;
  range: string | null;
}

/**
 * Successive collectives of a row with next to no computation between them, which could be merged into one. Per
 * step.
 * bytes: of all of them, bytes_p50: of one; None where not recorded. ns_p50: length of one.
 */
export interface InARow {
  count: number;
  exposed_ns: number;
  bytes: number | null;
  bytes_p50: number | null;
  ns_p50: number;
}

/**
 * pages: by span id, then view id. chain: of the runs in chain_runs, which are the newest where there are many.
 * jobs, waits: of each job, with the ids of its spans. keeps_paths: whether a summary was written with whole paths.
 */
export interface IncludedAnswers {
  written_ms: number;
  index: Index;
  catalogue: Catalogue;
  pages: Record<string, Partial<Record<ViewId, SpanPage>>>;
  trends: IncludedTrends;
  pairs: ComparePage[];
  chain: ChainPage;
  chain_runs: string[];
  jobs: RanksPage[];
  waits: RankMap[];
  scalars: Record<string, Scalars>;
  job_steps: Record<string, JobSteps>;
  keeps_paths: boolean;
}

/**
 * folded, whole: the picture with folded and with whole Python stacks; whole is None where nothing is folded.
 * described: all about the events that give boxes their names, with rows of whole stacks. moved, moved_row: events
 * that have another row where stacks are folded, and that row, -1 where they are folded away. busy: of the whole
 * recording.
 */
export interface IncludedEvents {
  held: IncludedSteps;
  folded: TimelinePage;
  whole: TimelinePage | null;
  described: EventDetail[];
  moved: number[];
  moved_row: number[];
  busy: BusyBins;
}

/** The flame graphs of a span, by what is above the ops and by where work of the backward pass counts. */
export interface IncludedFlames {
  pages: FlamePage[];
}

/**
 * steps: their names; none: the whole recording, which has no steps. [start_ns, end_ns): what is held, from the
 * span's origin. joined: events that have no box of their own.
 */
export interface IncludedSteps {
  steps: string[];
  start_ns: number;
  end_ns: number;
  joined: number;
}

/**
 * rows, changes: of all spans. of_all: the texts about all runs, by the run in focus ("" for none). of_one: the
 * texts about each run alone.
 */
export interface IncludedTrends {
  rows: TrendSpan[];
  changes: Change[];
  of_all: Record<string, SaidOfRuns>;
  of_one: Record<string, SaidOfRuns>;
}

/**
 * What is under the log directory. version changes whenever anything here changes.
 * places: the directories that are searched, as the user named them; folders: how many folders lie below them.
 */
export interface Index {
  version: string;
  runs: RunEntry[];
  spans_ready: number;
  spans_total: number;
  places: string[];
  folders: number;
  scanned_at_ms: number;
  problems: Problem[];
  snapshots: SnapshotEntry[];
}

/**
 * A card. Without a gain it is minor.
 * title is what to do ("Pin the memory of the batch"), why the measured numbers that show it, how the setting or code
 * to copy; None where there is none.
 * gain_ns: what it is worth now, per step, at most; later_ns: what it is worth once something else changed.
 * gain_formula says how the gain was computed; why_confidence says what the confidence rests on.
 * view: where the evidence is; steps: the steps that show it (empty: all). part: the part of the step that it
 * shortens. about_ns: the time that it is about where no gain is computed, for its place among small gains. evidence:
 * where to look in the timeline, the longest range first. row: where to look in the view. instead: what it gives where
 * no time is saved, in two words; None: nothing now. lowered_from: the severity of its gain, where the card has a
 * lower one because its confidence is low; None: it has that one. less_work_ns: what it takes of the kernels' time a
 * step, whether the step waits for them or not.
 */
export interface Insight {
  id: string;
  severity: Severity;
  title: Phrase;
  why: Phrase;
  how: string | null;
  gain_ns: number;
  gain_fraction: number;
  later_ns: number | null;
  gain_formula: Phrase;
  confidence: Confidence;
  why_confidence: Phrase;
  view: string;
  colour: string;
  part: string | null;
  steps: string[];
  evidence: Evidence[];
  about_ns: number;
  row: EvidenceRow | null;
  instead: Phrase | null;
  lowered_from: Severity | null;
  less_work_ns: number;
}

/**
 * Rare long waits without a period. typical_ns: the median wait; long_ns: mean of the long ones; exposed_ns: what
 * they cost beyond the typical wait, per step. steps: in which they are.
 */
export interface Jitter {
  typical_ns: number;
  long_ns: number;
  long_count: number;
  exposed_ns: number;
  steps: string[];
}

/**
 * ranks: of late_ranks, else empty. step_ns: what a step of the job would take, est.; gain_ns: how much less;
 * usual_gain_ns: in the median step, if that is less.
 */
export interface JobChange {
  id: "even_ranks" | "hidden_exchanges" | "instant_exchanges" | "instant_host" | "late_ranks" | "no_interruptions" | "no_loader_waits";
  ranks: number[];
  step_ns: number;
  gain_ns: number;
  usual_gain_ns: number;
}

/**
 * Matched collectives of one kind, size and type in one group. Sums over matched_steps and over the group's ranks.
 * members: its ranks, ascending. bytes: of the larger of what one rank sends and receives in one of them; None where
 * not recorded, and then without bandwidths. count: how many in all, over matched_steps. transfer_ns + wait_ns =
 * running_ns = exposed_ns + hidden_ns. transfer_p50_ns: median length on the rank that arrived last.
 * algorithm_rate, bus_rate: bytes a second of the median, as nccl-tests define them: bytes / transfer, and that
 * times what each link carries of it, 2 (n-1)/n for an all-reduce. of_peak: bus_rate / the link's peak that the user
 * told, else None. prefetched: for all-gathers of FSDP the share that computation hides, else None. stalled: calls
 * that take far longer than the others, on all ranks; stalled_ns: what they take beyond the median, of transfer_ns;
 * stalled_exposed_ns: and of exposed_ns.
 */
export interface JobCollective {
  kind: string;
  label: string;
  group: string | null;
  ranks: number;
  members: number[];
  dtype: string | null;
  bytes: number | null;
  role: "buffers" | "checks" | "ddp" | "expert_parallel" | "fsdp" | "pipeline" | "tensor_parallel" | "unknown";
  count: number;
  transfer_ns: number;
  wait_ns: number;
  running_ns: number;
  exposed_ns: number;
  hidden_ns: number;
  transfer_p50_ns: number;
  algorithm_rate: number | null;
  bus_rate: number | null;
  of_peak: number | null;
  prefetched: number | null;
  stalled: number;
  stalled_ns: number;
  stalled_exposed_ns: number;
}

/** count: number of events that show it; name: of the first of them, "" if names are irrelevant. */
export interface JobEvidence {
  code: string;
  count: number;
  name: string;
}

/**
 * What a recording shows about its job; "unknown", or None, if it does not show it.
 * purpose         training: gradients or an optimizer; inference: many layers without either
 * execution       how its work is launched; mixed: no way makes four fifths of it
 * compiled_share, graph_share   of kernel time but collectives (of CPU jobs: of the time in ops); the rest is eager
 * device, vendor  the device on which it computes; gpu even if its work there is not recorded
 * accelerator     what PyTorch calls the devices: GPU, XPU, MTIA, HPU
 * ranks           processes that work together; rank and world_size as in the file
 * optimizer       class with most recorded steps, such as "AdamW"
 * server          what runs an inference, None for a script
 * evidence        what shows each of these, at most a few
 */
export interface JobKind {
  purpose: "inference" | "training" | "unknown";
  execution: "compiled" | "eager" | "graphs" | "mixed" | "unknown";
  compiled_share: number | null;
  graph_share: number | null;
  device: "cpu" | "gpu" | "unknown";
  vendor: "amd" | "nvidia" | "other" | null;
  accelerator: string;
  ranks: "many" | "one" | "unknown";
  rank: number | null;
  world_size: number | null;
  evidence: JobEvidence[];
  optimizer: string | null;
  server: "sglang" | "vllm" | null;
}

/**
 * A job over the ranks that were recorded at the same time.
 * ranks: ascending; missing: ranks that world_size says there are and no recording is of. world_size: None where no
 * file says it. steps: that any of the ranks recorded, in order. metrics: ids of the catalogue that some rank
 * measured, of which `matrices.rank_matrix` makes a matrix; step_time is the first of them, ns.
 * matched_steps: the steps whose collectives are matched over ranks; of three or more not the first, in which ranks
 * wait for each other's profiler to start. unmatched: why nothing is matched, else None.
 * balance: None where unmatched. late: the ranks that make others wait, most first, at most five; a straggler is the
 * first. late_group: with balance "late_ranks" those that are late together, else None. exchange: None where
 * unmatched. imbalance_gain_ns: a step at most, if all arrived with the median rank; 0 but of an imbalance.
 * imbalance_causes: what takes the late rank of each step longer than the median of the others in it, most first.
 * tokens: of each group of ranks that share experts; tokens_reason: why ranks with all-to-alls have none, else None.
 * path: None where unmatched, and where ranks send to each other, whose waits no collective shows.
 * pipeline: of ranks that are the stages of one, else None. what_if: what a step would take after changes, else None,
 * with what_if_reason.
 * notes: what is missing, twice, cut off, or could not be matched, with counts. on_device: kernels ran on some rank.
 */
export interface JobRanks {
  world_size: number | null;
  ranks: RankRow[];
  missing: number[];
  steps: JobStep[];
  step_time: RankMatrix;
  metrics: string[];
  clocks: Clocks;
  matched_steps: number;
  unmatched: Reason | null;
  groups: GroupRow[];
  collectives: JobCollective[];
  messages: Messages[];
  pairs: MessagePair[];
  tokens: RoutedTokens[];
  tokens_reason: Reason | null;
  exchange: ExchangeTime | null;
  balance: "balanced" | "imbalance" | "late_ranks" | "straggler" | null;
  late: LateRank[];
  late_group: LateGroup | null;
  imbalance_gain_ns: number;
  imbalance_causes: Cause[];
  path: DecidingPath | null;
  pipeline: Pipeline | null;
  what_if: JobReplay | null;
  what_if_reason: Reason | null;
  notes: Note[];
  on_device: boolean;
}

/**
 * The joint replay of `steps` steps, those whose collectives and messages are matched, on `rank_count` ranks;
 * means, ns.
 * recorded_step_ns: from the end of a step to the end of the next one, with all work that they launch, on the rank on
 * which that takes longest; of a first step from its begin. Of stages that send to each other it ends with the last of
 * them. replayed_step_ns: the same out of the replay.
 * unexplained: share of the rank on which nothing explains most. trusted: whether the two hardly differ, and little is
 * unexplained. by_device: out of graphs of hosts and devices; else of each rank's own time between its waits.
 * changes: those that make the step shorter, most first; none of a replay that is not to be trusted.
 * larger: with twice and four times as many ranks; empty, with larger_reason, where that is not known.
 */
export interface JobReplay {
  rank_count: number;
  steps: number;
  recorded_step_ns: number;
  replayed_step_ns: number;
  unexplained: number;
  trusted: boolean;
  by_device: boolean;
  changes: JobChange[];
  larger: LargerJob[];
  larger_reason: Reason | null;
}

/**
 * A step over the ranks that recorded it. slowest, fastest: ranks; late: the rank that makes the others wait most
 * in it, None where nothing is matched; late_ns: these waits, summed over the others and over collectives, which may
 * run at the same time.
 */
export interface JobStep {
  name: string;
  ranks: number;
  slowest: number;
  slowest_ns: number;
  median_ns: number;
  fastest: number;
  fastest_ns: number;
  late: number | null;
  late_ns: number;
}

/** The steps of one run by worker; empty where nothing was timed. more: workers that are left out. */
export interface JobSteps {
  workers: TimedWorker[];
  more: number;
}

/**
 * The kind of job as it is shown: line in the head of every view; shown_by: what in the trace shows it.
 * machine: its GPUs by name, or that none is recorded; units: how many processors one of them has, None where that is
 * not known. accelerator, vendor: what PyTorch calls the devices, and whose they are; labels differ by them.
 */
export interface JobText {
  line: Phrase;
  shown_by: Phrase[];
  machine: Phrase;
  units: Phrase | null;
  accelerator: string;
  vendor: string | null;
}

/**
 * A step of a job on one clock, [from_ns, to_ns) of [0, length_ns) in bins of equal length.
 * steps: those that can be shown. spans, ranks: of the rows; shift_ns: added to a time of the picture to have one from
 * the origin of the row's span. cells: base64 of bytes: a zero, then row by row for each bin what the rank does most
 * of it: 0 nothing of this step, 1 its own time, 2 it waits for other ranks, 3 it transfers. path: what decides the
 * step, in time order, without what is shorter than a bin. arrivals: of the collectives on it, those in the window
 * that others wait for longest.
 */
export interface JobTimeline {
  steps: string[];
  step: string;
  spans: string[];
  ranks: number[];
  shift_ns: number[];
  length_ns: number;
  from_ns: number;
  to_ns: number;
  bins: number;
  cells: string;
  path: LanePiece[];
  arrivals: LaneArrivals[];
}

/** shape is None where the trace does not say the kernel's grids. sites: those with most time. */
export interface KernelDetail {
  name: string;
  lengths: LaunchLengths;
  calls: LaunchTimes;
  shape: LaunchShape | null;
  short: string;
  sites: LaunchSite[];
}

/**
 * Launches of one group on one device. Times are ns, shares and occupancies fractions.
 * name                the kernel, op, module or line that the row is of; where there is none, why
 * total_ns            = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns
 * share               of the device's kernel time
 * tensor_core         what holds for most of its time, where the row's kernels differ; with the reason of the rule
 * eligible            could a kernel of the row run on tensor cores, or does it? None: its name does not say
 * why_not, gain_ns    id of the reason why it does not, that with most time where they differ, and what that costs
 * over the span at most; None: nothing of the row could move there
 * op                  the innermost one around the launches, that with most time where they differ (op_count ops);
 * None: most time has none, and then no_op says why
 * module, source      of the user around the launches, of backward kernels around the op that made them; those with
 * most time where they differ (source_count lines); None: most time has none, or none is recorded
 * blocks_per_sm ...   means over the launches, weighted by their lengths; None: not measurable, on this GPU or of
 * these kernels
 * short               of a kernel its short name, which no other kernel of the recording has; else the name; empty in
 * summaries of before it was made, as in all rows of kernels
 * persistent          by its name its blocks loop over tiles until all is done: the grid says nothing of a tail
 */
export interface KernelGroup {
  name: string;
  device: number;
  count: number;
  total_ns: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  share: number;
  tensor_core: "no" | "unknown" | "yes";
  tensor_core_reason: string;
  tensor_core_ns: number;
  matmul_like_ns: number;
  unknown_ns: number;
  other_ns: number;
  eligible: boolean | null;
  why_not: string | null;
  gain_ns: number | null;
  kernel_count: number;
  op: string | null;
  op_count: number;
  no_op: string | null;
  module: string | null;
  blocks_per_sm: number | null;
  waves: number | null;
  tail_fraction: number | null;
  sm_active_share: number | null;
  slot_efficiency: number | null;
  est_achieved_occupancy: number | null;
  kineto_achieved_occupancy: number | null;
  persistent: boolean;
  short: string;
  source: string | null;
  source_count: number;
}

/** Groups with most time; more_* fold the others: groups, their launches, their time. */
export interface KernelGrouping {
  by: "line" | "module" | "name" | "name,line" | "name,module" | "name,op" | "op";
  rows: KernelGroup[];
  more_rows: number;
  more_count: number;
  more_ns: number;
}

/**
 * Kernels of one name that went to one bin: tensor_core, matmul_like, unknown or other.
 * short is the kernel's short name, reason what the deciding rule says of the name. A name may have two rows: a layout
 * conversion is matmul-like where its op ran on the plain cores, and other where it served tensor cores. share is of
 * the device's kernel time.
 */
export interface KernelRow {
  name: string;
  bin: "matmul_like" | "other" | "tensor_core" | "unknown";
  reason: string;
  count: number;
  total_ns: number;
  share: number;
  short: string;
}

/**
 * The place from which most time of some kernels comes.
 * kernel           short name
 * op               innermost op; None where none is recorded
 * shapes, dtypes   of its inputs as compact JSON; None if they are not recorded or not kept
 * module, source   class of the innermost nn.Module, and the innermost line outside torch; for a backward kernel those
 * of its forward op; None in traces without call stacks
 * backward         launched by a node of the backward pass
 * longest          the longest launch, to look at in the timeline
 */
export interface KernelSite {
  kernel: string;
  op: string | null;
  shapes: string | null;
  dtypes: string | null;
  module: string | null;
  source: string | null;
  backward: boolean;
  longest: Evidence | null;
}

/** Kernels of one name that begin in a window, with their whole length. name: as it is written on boxes. */
export interface KernelsNamed {
  name: string;
  count: number;
  total_ns: number;
}

/**
 * One lane of the picture of two steps. id: loader, cpu or gpu. start_ns, end_ns: disjoint intervals; hatched says
 * for each whether it is the second sense of the lane's colour (a wait that is hidden).
 */
export interface Lane {
  id: "cpu" | "gpu" | "loader";
  label: string;
  start_ns: number[];
  end_ns: number[];
  hatched: boolean[];
}

/**
 * A collective: who arrives when. last: the row that arrives last; wait_ns: of the row that waits longest; end_ns:
 * when it ends. rows, arrived_ns: of each of its ranks, in the same order.
 */
export interface LaneArrivals {
  label: string;
  last: number;
  wait_ns: number;
  end_ns: number;
  rows: number[];
  arrived_ns: number[];
}

/** row: of the picture; times from its begin, ns. */
export interface LanePiece {
  row: number;
  from_ns: number;
  to_ns: number;
}

/** A range of the span in which the pattern shows, by steps. Times are relative to the span's origin. */
export interface LaneWindow {
  start_ns: number;
  end_ns: number;
  steps: string[];
  marks_ns: number[];
  lanes: Lane[];
}

/**
 * The same job in so many ranks, each of which does as much as now. step_ns: est.; efficiency: of the step as it is
 * to that.
 */
export interface LargerJob {
  ranks: number;
  step_ns: number;
  efficiency: number;
}

/**
 * The largest pieces of the step. shares_of: what their shares are of; throughput: steps and samples a second.
 * leads: whether they stand before the cards, none of which gains much; threads: on how many threads and cores they
 * run, None for those of a GPU.
 */
export interface Largest {
  title: Phrase;
  shares_of: Phrase;
  throughput: Phrase;
  pieces: Piece[];
  leads: boolean;
  threads: Phrase | null;
}

/**
 * Ranks that are late together, ascending: each other rank waits for one or another of them. host: where they are
 * all that were recorded of one host. late_steps: steps in which most of the others' waits end when one of them
 * arrives, of `steps`; caused_share: of the waits of all others. wait_ns, own_wait_ns, gain_ns as of a `LateRank`;
 * first: the one of them that makes the others wait most; causes: why that one is late, against all others.
 */
export interface LateGroup {
  ranks: number[];
  first: number;
  host: string | null;
  late_steps: number;
  steps: number;
  caused_share: number;
  wait_ns: number;
  own_wait_ns: number;
  gain_ns: number;
  causes: Cause[];
}

/**
 * A rank that makes others wait. last_share: of its matched collectives, those at which it arrived last.
 * late_steps: steps in which it makes the others wait most, of `steps`. caused_share: of the waits of all ranks, what
 * ends with its arrival. wait_ns: what each of the others waits for it a step and no computation hides, as a mean over
 * them and over steps; own_wait_ns: what it so waits itself a step. gain_ns: in the median step at most, if it arrived
 * together with the next to last rank: the least of the others' exposed waits. causes: most first; empty where its own
 * figures are like those of the others.
 */
export interface LateRank {
  rank: number;
  last_share: number;
  late_steps: number;
  steps: number;
  caused_share: number;
  wait_ns: number;
  own_wait_ns: number;
  gain_ns: number;
  causes: Cause[];
}

/**
 * Figures of the launches in the whole span. A launch is a call that launched anything; with CUDA graphs one launch
 * starts many activities.
 * calls, activities: per step. starved_share: activities whose run-ahead is 15 us or less. unlinked: activities
 * without launch record, in the steps. queue_mean, queue_max: of all streams, over the window; empty_share: of the
 * time with nothing queued. graphs: launches of captured graphs per step.
 */
export interface LaunchFigures {
  calls: number;
  activities: number;
  run_ahead_p50_ns: number | null;
  starved_share: number | null;
  unlinked: number;
  queue_mean: number;
  queue_max: number;
  empty_share: number;
  graphs: number;
}

/**
 * A distribution: count[i] launches last edges_ns[i] or more and less than edges_ns[i + 1], the last edge included.
 * Edges grow by one factor, as far as whole ns allow; one bin where all launches last equally long.
 */
export interface LaunchLengths {
  edges_ns: number[];
  count: number[];
}

/**
 * Launches of one kernel from one place. Sums over the compared steps.
 * short: the kernel's short name. op: the innermost one, None outside any; shapes: of its inputs, as the trace writes
 * them, "" where it does not. module: the innermost one, None where none is recorded. order: rank of the first launch
 * among those of all places. deviation_ns: standard deviation of its time per step, None of one step.
 */
export interface LaunchPlace {
  name: string;
  short: string;
  op: string | null;
  shapes: string;
  module: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  count: number;
  total_ns: number;
  order: number;
  deviation_ns: number | null;
}

/**
 * One launch shape and how it fills the GPU: the blocks run in waves of at most sm_count x resident.
 * It is the kernel's most frequent shape of shape_count, with so many launches. grid is as the trace says it (some
 * calls of ROCm count work-items), registers are per thread, shared_memory is bytes per block; None: the trace or the
 * GPU's limits do not say. persistent: its blocks loop over tiles, by its name.
 */
export interface LaunchShape {
  grid: number[];
  block: number[];
  registers: number | null;
  shared_memory: number | null;
  launches: number;
  shape_count: number;
  blocks: number | null;
  sm_count: number | null;
  resident: number | null;
  slots: number | null;
  waves: number | null;
  tail: number | null;
  slot_efficiency: number | null;
  occupancy: number | null;
  kineto_occupancy: number | null;
  persistent: boolean;
}

/**
 * Where some launches come from: the innermost op and module, and the user's line; of a backward kernel module and
 * line of its forward op. None where there is none, or it is not recorded.
 */
export interface LaunchSite {
  op: string | null;
  module: string | null;
  source: string | null;
  count: number;
  total_ns: number;
}

/**
 * Launches in equal bins of the span, the last of which may be shorter.
 * count: launches that start in the bin. busy_ns: their lengths within the bin, by exact overlap; what lasts beyond
 * the span's window is in no bin.
 */
export interface LaunchTimes {
  start_ns: number;
  bin_ns: number;
  count: number[];
  busy_ns: number[];
}

/**
 * Means per step. small_grids and small_tails are None where the trace does not tell the shapes of launches.
 * optimizer   short kernels of one tensor each that optimizers launch; the gain is the time in which the GPU is idle
 * while an optimizer runs
 * attention   that is written out, None where none is; chains that a compiler would fuse; copies within the GPU
 * fused       the optimizer has kernels that make a whole update of many tensors
 * update      kernels of optimizers that make a part of an update and are not generated by a compiler; the gain is all
 * of their time
 * indexing    kernels of ops that add up the gradient of an indexed tensor; the gain is all of their time; None if
 * there are none
 * double      products with FP64 inputs, None where there are none; the gain is what FP32 would save of their time
 * double_others   other kernels of ops whose tensors are FP64, as their types are recorded; the gain is half of their
 * time, as FP32 moves half of the bytes
 */
export interface LaunchWaste {
  small_grids: Waste | null;
  small_tails: Waste | null;
  layout_conversions: Waste;
  optimizer: Waste;
  attention: EagerAttention | null;
  chains: FusibleChains | null;
  copies: CopiesOfKind[];
  fused: boolean;
  double: Waste | null;
  double_others: Waste | null;
  update: Waste | null;
  indexing: Waste | null;
}

/** The memory that a line holds at the end of both snapshots; None as in `LineRow`. */
export interface LineGrowth {
  line: string | null;
  function: string | null;
  before_bytes: number;
  after_bytes: number;
  before_count: number;
  after_count: number;
}

/**
 * Allocations of one line of code. line: "train.py:23"; None: where they were made is not recorded.
 * bytes, count: in use at the peak; end_bytes: in use at the end; made_bytes, made_count: allocated since the oldest
 * entry; lifetime_us: the mean of those that were also freed since then, None where there are none, or no times.
 */
export interface LineRow {
  line: string | null;
  function: string | null;
  bytes: number;
  count: number;
  end_bytes: number;
  made_bytes: number;
  made_count: number;
  lifetime_us: number | null;
}

/**
 * What each line of the user's code costs by itself; rows, rest and elsewhere sum to the whole.
 * line_of: what a line is, that where a function begins or one that ran; where: for which line work of the backward
 * pass counts. host_ns: the steps on the thread that trains. more: how many lines `rest` has; elsewhere: what no line
 * is around.
 */
export interface LineTable {
  line_of: "call" | "function";
  where: "made" | "ran";
  host_ns: number;
  rows: CodeLine[];
  more: number;
  rest: CodeLineSums;
  elsewhere: CodeLineSums;
}

export interface LinkOfChain {
  of: ComparedSpans;
  link: ChainLink;
}

/**
 * The longest activities of a loader in the main process; more folds the rest, more_ns its time. slow_lines: those
 * of the dataset, where call stacks are recorded.
 */
export interface LoaderActivities {
  rows: Activity[];
  more: number;
  more_ns: number;
  slow_lines: LoaderLine[];
}

/** A line inside the loader, as frames name it: "cifar.py(120): __getitem__", and its self time per batch. */
export interface LoaderLine {
  line: string;
  ns_per_batch: number;
}

/**
 * One loader of the span; ns are means per batch, wait_ns = exposed_ns + hidden_ns.
 * label: "Training loader 2". batches: without the first ones of an epoch; first_batches, first_batch_ns: those first
 * ones, None if there are none.
 */
export interface LoaderRow {
  label: string;
  iterator: string;
  multiprocess: boolean | null;
  batches: number;
  wait_ns: number;
  exposed_ns: number;
  hidden_ns: number;
  first_batches: number;
  first_batch_ns: number | null;
}

/** wait_ns = exposed_ns + hidden_ns: the loader's intervals within the step, without and with device work beside. */
export interface LoaderStep {
  name: string;
  duration_ns: number;
  wait_ns: number;
  exposed_ns: number;
  hidden_ns: number;
}

/**
 * late_ns: what of it is late. doing, name, inside: what the host does for most of it, as in `Doing`. compiles:
 * torch.compile is at work in it; compiled: it is, or the launch that ends it is one of compiled code. unusual: what
 * the host does takes far less elsewhere. busiest, busiest_ns: what a frame calls most.
 */
export interface LongGap {
  step: string;
  start_ns: number;
  end_ns: number;
  late_ns: number;
  doing: "call" | "frame" | "nothing" | "op" | "range";
  name: string | null;
  inside: string | null;
  compiles: boolean;
  compiled: boolean;
  unusual: boolean;
  busiest: string | null;
  busiest_ns: number;
}

/**
 * The long gaps before launches of one place. count: over the span, in so many steps. late_ns, compiled_ns,
 * unusual_ns: per step, means over the steps; the latter two are disjoint parts. longest: at most KEPT. names: all of
 * the gaps by what the host does in them, most late time first; beyond NAMES of them as unnamed.
 */
export interface LongGaps {
  site: string;
  count: number;
  steps: number;
  late_ns: number;
  compiled_ns: number;
  unusual_ns: number;
  longest: LongGap[];
  names: WaitName[];
}

/**
 * Code that allocates memory which is never freed in each of `steps` steps, from the step `since` on.
 * bytes_per_step, count_per_step: means over these; example: one of the allocations.
 */
export interface Maker {
  bytes_per_step: number;
  count_per_step: number;
  since: string;
  steps: number;
  example: AllocationRow;
}

/**
 * [start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins. Least and most allocated,
 * and least and most reserved (empty without a caching allocator), bytes.
 */
export interface MemoryBins {
  start_ns: number;
  end_ns: number;
  least: number[];
  most: number[];
  reserved_least: number[];
  reserved_most: number[];
}

/** A device in a window; alive: at the instant that was asked for. */
export interface MemoryPage {
  device: number;
  curve: MemoryBins;
  alive: AliveAt | null;
}

/**
 * The first instant of the maximum. row: of the memory table; reserved_bytes: at the same instant, None without a
 * caching allocator; step: None outside of all.
 */
export interface MemoryPeak {
  row: number;
  at_ns: number;
  step: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  allocated_bytes: number;
  reserved_bytes: number | null;
}

/**
 * devices: GPUs first; none where memory was not recorded, and then `unknown` says so. calls: of the allocator to
 * the driver, the first ones; more_calls: how many others there are. [start_ns, end_ns): what the curves show.
 */
export interface MemoryResult {
  unknown: Reason | null;
  start_ns: number;
  end_ns: number;
  steps: MemoryStep[];
  devices: DeviceMemory[];
  calls: AllocatorCall[];
  more_calls: number;
}

/** A step by the host's own marks: memory is allocated when the host asks for it. */
export interface MemoryStep {
  name: string;
  start_ns: number;
  end_ns: number;
  phase_spans: PhaseSpan[];
}

/**
 * Sends of one size from a rank to another, each with the receive that takes it. Messages that one kernel exchanges
 * in both directions count as one of all their bytes, sent by the rank with the lower number. Sums over `steps` steps,
 * those in which messages of the two are matched. transfer_ns: the shorter of both sides; sender_wait_ns,
 * receiver_wait_ns: what it takes longer at that side. exposed_ns: of both sides, at most 2 transfer_ns and the waits,
 * what no computation hides.
 */
export interface MessagePair {
  group: string | null;
  source: number;
  target: number;
  bytes: number | null;
  steps: number;
  count: number;
  transfer_ns: number;
  sender_wait_ns: number;
  receiver_wait_ns: number;
  exposed_ns: number;
}

/**
 * Sends and receives of one size, of all ranks, whether or not the other side is known (`MessagePair`). Their time
 * includes the wait for it. Sums over `ranks` ranks, those with any of this size, and over `steps` steps, those in
 * which any rank sends or receives anything.
 */
export interface Messages {
  group: string | null;
  bytes: number | null;
  ranks: number;
  steps: number;
  count: number;
  running_ns: number;
  exposed_ns: number;
  hidden_ns: number;
}

/**
 * id is stable and public. `meaning` is one or two sentences for a person who has never seen the figure.
 * `short` is the label where room is scarce, as in table heads; empty: the label itself. `colour` names the meaning's
 * colour token (style only the front end knows): kernel, tensor, copy, comm, data, cpu, runtime, blocking, other, ink.
 */
export interface Metric {
  id: string;
  label: string;
  unit: Unit;
  meaning: string;
  colour: string;
  short: string;
}

/**
 * A figure in equal time bins of a span, by exact overlap: values are thousandths (0-1000), None where it has no
 * meaning (occupancy where nothing runs).
 */
export interface MetricBins {
  metric: string;
  device: number | null;
  start_ns: number;
  bin_ns: number;
  permille: (number | null)[];
}

/**
 * One figure in time, by exact overlap; levels from coarse to fine, each bin FINER bins of the next.
 * value: the figure over the whole window; None where nothing runs.
 */
export interface MetricLevels {
  metric: string;
  value: number | null;
  levels: BinLevel[];
}

/**
 * Of the peak what was made in modules of one path of classes, bytes: constant + batch x per_sample. bytes: at the
 * recorded batch. path: None where kind says that nothing names it.
 */
export interface ModuleBytes {
  path: string | null;
  kind: "before" | "module" | "op" | "others" | "outside" | "range";
  constant: number;
  per_sample: number;
  bytes: number;
}

/**
 * A module within the modules around it; sums over the steps, ns.
 * name                   of the module, or of its class where layers are folded
 * parent                 row of the module around it, which comes before; -1 for none
 * instances              modules of this class here, where folded; else 1
 * occurrences            calls
 * host_self_ns           without the modules inside it; python_ns: what of that is in no op
 * device_*, launches     of what it launches in the forward pass; None where nothing ran on a device
 * idle_ns                how long devices had nothing to do until it began; None as for ops
 * backward_*             with the modules inside: of the nodes of the backward pass that its ops made
 * kernel_ns              what of device_total_ns are kernels; on tensor cores at least tensor_ns, and at most
 * unknown_ns more
 * allocated_bytes        of its allocations in the forward pass, freed or not; allocated_self_bytes: of these without
 * the modules inside; backward_allocated_bytes: as backward_*; None where memory was not
 * recorded
 * slowest_ns             of folded rows, mean of a call of the slowest instance: forward on the device, else the host
 */
export interface ModuleRow {
  name: string;
  parent: number;
  instances: number;
  occurrences: number;
  host_total_ns: number;
  host_self_ns: number;
  python_ns: number;
  backward_host_ns: number;
  device_total_ns: number | null;
  device_self_ns: number | null;
  backward_device_ns: number | null;
  launches: number | null;
  idle_ns: number | null;
  kernel_ns: number | null;
  tensor_ns: number | null;
  unknown_ns: number | null;
  slowest_ns: number;
  allocated_bytes: number | null;
  allocated_self_bytes: number | null;
  backward_allocated_bytes: number | null;
}

/** Another span of the same worker: its figures for the tiles (metric id -> span value, step values). */
export interface Neighbour {
  id: string;
  number: number;
  values: Record<string, number | null>;
  steps: Record<string, (number | null)[]>;
}

/**
 * What was found, as an id with values that fill the places in its sentences. qualifies: the metrics or views above
 * which it stands; empty: all.
 */
export interface Note {
  id: string;
  values: Record<string, Quantity>;
  qualifies: string[];
}

/**
 * A note as it is shown. cause: a short fact ("Recorded with call stacks."); effect: which figures it touches, and
 * how, or what to do; more: what the tab shows in a tooltip, and every other text in full.
 */
export interface NoteText {
  id: string;
  cause: Phrase;
  effect: Phrase;
  more: Phrase | null;
}

/**
 * All opportunities with the same reason. bound_ns is the gain by the ratio of the peaks alone, gain_ns what memory
 * bandwidth leaves of it; op and shapes are those of the opportunity with most gain, and why and setting its.
 */
export interface Obstacle {
  why_not: string;
  why: Reason;
  setting: string | null;
  op: string | null;
  shapes: string | null;
  count: number;
  total_ns: number;
  bound_ns: number;
  gain_ns: number;
}

/**
 * One-time costs of one cause, over the span; ns. idle_ns: the part of total_ns in which the device is idle; all of
 * it without a device. The rest describes the longest one: op, in which it is, or None; name, of the call or range
 * that takes longest in it; step and time range, and how much of that is one-time.
 */
export interface OneTimeCost {
  cause: "allocation" | "between_ops" | "compilation" | "first_call" | "graph_capture" | "loading" | "set_up";
  count: number;
  total_ns: number;
  idle_ns: number;
  op: string | null;
  name: string;
  worst_step: string;
  worst_start_ns: number;
  worst_end_ns: number;
  worst_ns: number;
}

/** The recorded inputs of an op, as in the trace: '[[64,3,224,224],[64,3,7,7]]', '["float","float"]'. */
export interface OpInputs {
  op: string;
  shapes: string;
  dtypes: string;
}

/** Launches of a kernel by an op, or by ops inside it, in the steps. short: the kernel's short name. */
export interface OpKernel {
  name: string;
  short: string;
  count: number;
  total_ns: number;
}

/**
 * Ops of one name: sums over the recording, bytes. increase_bytes: allocated less freed while they ran. An op
 * inside another of its name is no call of its own, and counts once in what is allocated with children.
 */
export interface OpMemory {
  op: string;
  calls: number;
  count: number;
  allocated_bytes: number;
  increase_bytes: number;
  all_count: number;
  all_allocated_bytes: number;
  all_increase_bytes: number;
}

/** The split of the kernels that an op of this name launched; op is None where no_op says why there is none. */
export interface OpSplit {
  op: string | null;
  no_op: string | null;
  count: number;
  split: Split;
}

/**
 * An op, with sums over the given events. self_ns: its time without the ops inside it, added up over the threads;
 * deviation_ns: the standard deviation of that per step, None if there is one step.
 */
export interface OpTime {
  name: string;
  count: number;
  self_ns: number;
  deviation_ns: number | null;
}

/**
 * Everything that the first picture shows. page: of the span that the tab's address selects; None while that span
 * is not read, or where it cannot be read.
 */
export interface Opening {
  index: Index;
  catalogue: Catalogue;
  page: SpanPage | null;
}

/**
 * The calls of an op that begin in the steps: how long they last on the host, when they come, the longest one; its
 * kernels, and how many more there are. Calls within calls of the same op count too.
 */
export interface OperatorDetail {
  name: string;
  lengths: LaunchLengths;
  calls: LaunchTimes;
  longest: Evidence;
  kernels: OpKernel[];
  more_kernels: number;
}

/**
 * What the rows of a table leave out. device_self_ns: None where nothing ran on a device;
 * allocated_self_bytes: where memory was not recorded.
 */
export interface OperatorRest {
  rows: number;
  calls: number;
  host_self_ns: number;
  runtime_ns: number;
  device_self_ns: number | null;
  allocated_self_bytes: number | null;
}

/**
 * Ops of one name that agree in the key; sums over the steps, ns.
 * key                  shapes, call stack, module, line or phase, whatever ops are grouped by; None by name, and
 * where it is not recorded
 * runtime_ns           of the host's time, that in runtime calls of the ops themselves; host_total_ns is with it
 * calls                of the ops themselves; where work counts as made, no call of the backward pass is among them
 * device_*, launches   of kernels, copies and sets; None where nothing ran on a device
 * idle_ns              how long devices had nothing to do until what the op, or an op inside it, launched began; waits
 * for batches are left out
 * kernel_ns            what of device_total_ns are kernels; on tensor cores at least tensor_ns, and at most unknown_ns
 * more; None where no device has tensor cores
 * allocated_bytes      of the allocations while the op runs, freed or not: on the GPUs, or on the CPU where no GPU's
 * were recorded; allocated_self_bytes: without the ops inside it; None where none were recorded
 */
export interface OperatorRow {
  name: string;
  key: string | null;
  calls: number;
  host_total_ns: number;
  host_self_ns: number;
  runtime_ns: number;
  device_total_ns: number | null;
  device_self_ns: number | null;
  launches: number | null;
  idle_ns: number | null;
  kernel_ns: number | null;
  tensor_ns: number | null;
  unknown_ns: number | null;
  allocated_bytes: number | null;
  allocated_self_bytes: number | null;
}

/** Ops grouped by their name and one more; own times of the rows and of the rest sum to those of all ops. */
export interface OperatorTable {
  by: "line" | "module" | "name" | "phase" | "shape" | "stack";
  where: "made" | "ran";
  rows: OperatorRow[];
  rest: OperatorRest;
}

/**
 * Sums over the steps, which are steps_ns long in all.
 * start_ns, end_ns: when the host is in them. steps: the host's part of each.
 * tables: one for each grouping for which something is recorded, and where the links to the forward pass are, one with
 * the work of the backward pass where it was made. details: of the ops with most time. folded: modules, repeated
 * layers as one; modules: each by itself, of which the smallest more_modules are left out. lines: None where no line
 * of the user's code is recorded.
 * Empty in a summary of a release that did not measure ops.
 */
export interface OperatorsResult {
  start_ns: number;
  end_ns: number;
  steps: TimelineStep[];
  steps_ns: number;
  has_device: boolean;
  recorded: OpsRecorded;
  tables: OperatorTable[];
  outside: OutsideOps;
  outside_modules: OutsideModules;
  details: OperatorDetail[];
  folded: ModuleRow[];
  modules: ModuleRow[];
  more_modules: number;
  lines: LineTable | null;
}

/**
 * Kernels of one name that one op launched on inputs of the same shapes, and that could use tensor cores.
 * shapes, dtypes   of the op's inputs as compact JSON; None where the trace does not record them
 * kernel, short    its name, whole and short
 * why_not, why     why they do not: a stable id, and the reason; setting: what to type, if that would change it
 * gain_ns          over the span, at most; formula says how it was computed
 */
export interface Opportunity {
  op: string | null;
  shapes: string | null;
  dtypes: string | null;
  kernel: string;
  why_not: string;
  why: Reason;
  setting: string | null;
  count: number;
  total_ns: number;
  gain_ns: number;
  formula: Reason;
  short: string;
}

/**
 * ops: on the CPU. shapes: of their inputs; stacks: frames of the user's code; modules: calls of modules; backward:
 * which op of the forward pass made a node of the backward pass.
 */
export interface OpsRecorded {
  ops: boolean;
  shapes: boolean;
  stacks: boolean;
  modules: boolean;
  backward: boolean;
}

/**
 * An allocation that failed.
 * free_bytes, pieces, largest_bytes: free memory within segments, and of what it consists; None where the allocator
 * did more after it, so that the snapshot does not show it. expandable_helps: whether the pages that hold no block
 * in use would have been enough, and segments may not grow, an estimate; None where that is not known.
 */
export interface OutOfMemory {
  time_us: number | null;
  asked_bytes: number;
  device_free_bytes: number;
  in_use_bytes: number;
  reserved_bytes: number;
  free_bytes: number | null;
  pieces: number | null;
  largest_bytes: number | null;
  expandable_helps: boolean | null;
  line: string | null;
}

/**
 * device_ns: None where nothing ran on a device; allocated_bytes: None where memory was not recorded. With what
 * modules launch and allocate themselves, forward and backward, these are all of the steps.
 */
export interface OutsideModules {
  device_ns: number | null;
  allocated_bytes: number | null;
}

/** What no recorded op launched, in the steps. */
export interface OutsideOps {
  launches: number;
  device_ns: number;
}

/**
 * ns: outside of ops, calls and waits for batches while the range is open on the thread that trains, mean over the
 * steps.
 */
export interface OutsideRange {
  name: string;
  ns: number;
}

/**
 * The loop's wait for batches that worker processes have already produced: the message is sent, unpickled and
 * mapped, and the indices of a later batch are drawn.
 * ns: per batch, None with why if late batches hide it. exposed_ns: all of it in the mean step, including pauses of
 * the host; gain_ns: the part of each batch up to ns, beyond `unavoidable_ns`. source: the recorder, "ready" (waits of
 * prefetched batches in a burst) or "short" (the usual wait is as short as for a batch that is ready). sampler_ns: the
 * part of ns in which the sampler draws indices; None if no recorder has it.
 */
export interface Overhead {
  ns: number | null;
  exposed_ns: number | null;
  gain_ns: number;
  source: "ready" | "recorder" | "short" | null;
  why: Reason | null;
  sampler_ns: number | null;
}

/**
 * mean_parts_ns sums to mean_duration_ns; works_ns (device parts) + waits_ns = mean_duration_ns.
 * tiles come in the order in which they are shown; GPU figures are those of `device`.
 * absent says why a part is a dash and not a length, by the part's id. job: what kind of job was recorded.
 * communication: None where nothing is exchanged. cut_short: the file ends before the trace does. findings: what is
 * wrong with the recording; repaired first, then what was left out, then what is only said. not_recorded_ns: an
 * estimate of the GPU time that the only step lacks, where the end of the recording is missing; else 0.
 * steady_step_ns: the median of what steps take without excess, None where they could not be computed; excess: over
 * the steps by kind, the most first.
 */
export interface OverviewResult {
  steps: StepRow[];
  mean_duration_ns: number;
  mean_host_ns: number;
  mean_parts_ns: Parts;
  mean_gpu_busy_ns: number | null;
  works_ns: number;
  waits_ns: number;
  has_device: boolean;
  device: number | null;
  devices: DeviceFigures[];
  tiles: Series[];
  absent: Record<string, Reason>;
  job: JobKind;
  communication: Communication | null;
  cut_short: boolean;
  findings: Finding[];
  not_recorded_ns: number;
  steady_step_ns: number | null;
  excess: ExcessRow[];
  pace: StepPace | null;
}

/**
 * count: number of values; planes: a zero, then width bytes of each value, the low bytes of all values first. The
 * zero makes the Base64 text begin with a letter: text that begins with a slash would be taken for a path
 * (`ingest.private_paths`).
 */
export interface PackedColumn {
  count: number;
  width: number;
  planes: string;
}

/** A part of the step: its id in Parts, label, colour token, meaning; works: the device is busy in it. */
export interface PartMeaning {
  id: string;
  label: string;
  meaning: string;
  colour: string;
  hatched: boolean;
  works: boolean;
}

/** ns per part, in the order in which a stacked picture shows them; they sum to the step. */
export interface Parts {
  kernel: number;
  communication: number;
  memcpy: number;
  memset: number;
  data_loader: number;
  runtime: number;
  cpu_exec: number;
  other: number;
}

/** A pass of a step; row: of the pipeline's rows; kind: place in PASS_KINDS; times from the begin of the picture. */
export interface PassPiece {
  row: number;
  kind: number;
  stage: number;
  micro_batch: number;
  from_ns: number;
  to_ns: number;
}

/**
 * In the order of steps and of start; one entry of each column for each. step: place among the steps of the span;
 * kind: place in PASS_KINDS; stage, micro_batch: as labelled, -1 where no label says; start: relative to the span's
 * origin, us; length: ns, from the begin of its first activity to the end of its last. left_out: passes of later
 * steps, which are not kept.
 */
export interface Passes {
  step: PackedColumn;
  kind: PackedColumn;
  stage: PackedColumn;
  micro_batch: PackedColumn;
  start: PackedColumn;
  length: PackedColumn;
  left_out: number;
}

/**
 * A rank on the deciding path: ns a step by which it arrives at collectives after the median of the others. causes:
 * as of a `LateRank`; empty where late_ns is too little to look for them.
 */
export interface PathRank {
  rank: number;
  late_ns: number;
  causes: Cause[];
}

/**
 * Columns of paths between nodes: from the end of `before`, -1 for an instant after the recording's origin, to the
 * start of `after`, which is lag ns later or more; by `after`. Nodes: the begins of all steps, then the collectives in
 * the order of `Exchanges`, then the ends of all steps.
 */
export interface Paths {
  before: PackedColumn;
  after: PackedColumn;
  lag: PackedColumn;
}

/**
 * Pauses of one cause in the steps.
 * sure: the trace names the cause; otherwise it is inferred from the pattern. name: of the longest one, as in the
 * trace; None if it has none. count, total_ns: over the span; idle_ns: device idle time in them, mean per step;
 * worst_*: the longest one.
 */
export interface Pause {
  cause: "garbage_collection" | "interrupted" | "unexplained";
  sure: boolean;
  name: string | null;
  count: number;
  total_ns: number;
  idle_ns: number;
  worst_step: string;
  worst_start_ns: number;
  worst_end_ns: number;
}

/** Memory at an instant for any batch: constant + batch x per_sample, bytes. row: of the device's curve. */
export interface PeakLine {
  constant: number;
  per_sample: number;
  row: number;
}

/**
 * A phase of the step: the sum of its sites, and what the host spends in it. Means over the steps, per step.
 * host_ns: sums over the phases to the step; idle_ns.total over the phases sums to the device's idle time.
 */
export interface PhaseRow {
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  label: string;
  host_ns: number;
  device_ns: number;
  idle_ns: IdleNs;
  bubble_ns: number;
  launches: number;
  run_ahead_p50_ns: number | null;
  starved_share: number | null;
  bound: Bound;
}

/**
 * A range of a step that the host spends in one phase, relative to the span's origin; too short ones to be drawn
 * are left out. inner: a part of the range around it with a name of its own, such as the buffer broadcast.
 */
export interface PhaseSpan {
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  label: string;
  start_ns: number;
  end_ns: number;
  inner: boolean;
}

/** The split of the kernels launched in a phase, one of `phases.PHASES`; unknown: their launch is not recorded. */
export interface PhaseSplit {
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  count: number;
  split: Split;
}

/**
 * A sentence whose `{key}` places are filled from `values`; `[...]` marks the words to emphasize.
 * >>> from tb_steptime.text.quantities import ns
 * >>> phrase("A step takes [{step}].", step=ns(177_600_000)).values
 * {'step': Quantity(value=177600000, unit=<Unit.NS: 'ns'>)}
 */
export interface Phrase {
  template: string;
  values: Record<string, Quantity>;
}

/** A kernel or op with its time a step, its share, and the row of the view that has more of it. */
export interface Piece {
  name: string;
  ns: number;
  share: number;
  view: string;
  row: EvidenceRow;
}

/**
 * The slowest of the job's chains of stages; chains: how many there are. Mean of `steps` steps, ns.
 * schedule: None where the order of passes is of none that is known, and reason says so. odd_ranks: those that compute
 * in another order than the schedule. micro_batches: of a step. window_ns: from the first begin of a pass to the last
 * end of one: work_ns + the four causes; step_ns = window_ns + other_ns. work_ns: what a stage computes, mean of all,
 * with its own time between passes. perfect_ns: what a step would take without any bubble, est.: as long as its
 * slowest stage works, and other_ns. rows: in the order of stages. shown: a step in the middle of the others; None of
 * more passes than a picture has room for.
 */
export interface Pipeline {
  schedule: "1f1b" | "breadth_first" | "gpipe" | "interleaved" | "zero_bubble" | null;
  reason: Reason | null;
  odd_ranks: number[];
  chains: number;
  micro_batches: number;
  stages: number;
  steps: number;
  step_ns: number;
  window_ns: number;
  work_ns: number;
  other_ns: number;
  schedule_ns: number;
  imbalance_ns: number;
  ordering_ns: number;
  transfer_ns: number;
  perfect_ns: number;
  rows: StageRow[];
  shown: PipelineStep | null;
}

/**
 * One step on the clock of the first row. shift_ns: of each row what is added to a time of the picture to have one
 * from the origin of its span.
 */
export interface PipelineStep {
  name: string;
  length_ns: number;
  shift_ns: number[];
  passes: PassPiece[];
  bubbles: BubblePiece[];
}

/**
 * A card whose advice was followed, per step. predicted_ns: at most. measured_ns: by how much shorter the step
 * became (`of` None), or, where the candidate does several things otherwise, this part of it. low, high: its interval.
 * residual: by part, what was predicted less what was measured, most first; sums to predicted_ns - measured_ns. Empty
 * where the card does not say which part becomes shorter.
 */
export interface Prediction {
  insight: string;
  change: "allocator" | "channels_last" | "compiled" | "fused_attention" | "gradient_buckets" | "graphs" | "half_on_cpu" | "half_precision" | "item_removed" | "non_blocking" | "optimizer" | "pinned_memory" | "smaller_batches" | "syncs_removed" | "tensor_cores" | "tf32" | "workers" | "zero_gradients";
  of: string | null;
  predicted_ns: number;
  measured_ns: number;
  low: number | null;
  high: number | null;
  residual: Residual[];
}

/** An error to show to the user: the fact, the file (relative to the log directory), and a way out. */
export interface Problem {
  problem: string;
  file: string;
  hint: string;
}

/**
 * Calls of one op on inputs of the same shapes and types, on tensor cores.
 * total_ns           of their kernels over the span
 * tflops             mean rate, with all that a mask leaves out; causal: whether there is a causal one, None: not said
 * attainable_tflops  what others of the trace, memory and the number of tiles allow; None: not known, or no product
 * slow, why          id and reason of what makes it slow; None: it is not slow, or nothing shows why
 * gain_ns            over the span, at most; 0 where it is not slow
 */
export interface ProductRate {
  site: KernelSite;
  dtype: string;
  count: number;
  total_ns: number;
  tflops: number;
  attainable_tflops: number | null;
  causal: boolean | null;
  slow: string | null;
  why: Reason | null;
  gain_ns: number;
}

/**
 * Rows with the most gain first, then with the most time. By input type: best_tflops is the best rate of longer
 * calls, peak_tflops the data sheet's.
 */
export interface ProductRates {
  rows: ProductRate[];
  best_tflops: Record<string, number>;
  peak_tflops: Record<string, number>;
}

/**
 * What a worker does over time, relative to the span's origin; disjoint and sorted. part: 0 dataset, 1 collate,
 * 2 transfer (the worker has no other batch to produce meanwhile), 3 waits for a request. batch: of each
 * segment; -1 for none, or where segments are too short to be drawn one by one and stand for several.
 */
export interface ProductionLane {
  loader: number;
  worker: number;
  start_ns: number[];
  end_ns: number[];
  part: number[];
  batch: number[];
}

/** Reading one file. Bytes are bytes on disk; seconds_left is None until it is known. */
export interface Progress {
  read_bytes: number;
  total_bytes: number;
  events: number;
  bytes_per_second: number | null;
  seconds_left: number | null;
}

/**
 * In the step of median length, of the training's thread. outside_ns: when no op, call or loader runs. in_ns: in
 * calls of the function `name`, which hold most of that, their ops too; the first starts at start_ns, the last ends at
 * end_ns. busiest, busiest_ns: what these calls spend more than half of their time in, None and 0 where no one name
 * takes so much.
 */
export interface PythonFunction {
  step: string;
  start_ns: number;
  end_ns: number;
  outside_ns: number;
  name: string;
  in_ns: number;
  busiest: string | null;
  busiest_ns: number;
}

/**
 * The calls of one function on the thread that trains. ns: outside ops, calls and waits and without interruptions,
 * mean over the steps that are judged; steps: those with a call, empty where nearly all have one; start_ns, end_ns: of
 * the longest call. caller: the user's function that calls it, where it is one of another package or of torch, a
 * built-in one or has no name, else None. waits: it waits for something else than a batch.
 */
export interface PythonWork {
  name: string;
  caller: string | null;
  calls: number;
  ns: number;
  longest_ns: number;
  start_ns: number;
  end_ns: number;
  steps: string[];
  waits: boolean;
}

/** One value with its unit, or None where it is not measurable. */
export interface Quantity {
  value: number | string | null;
  unit: Unit;
}

/**
 * The queue at one resolution, one entry per bin from the window's start on: mean depth in thousandths, and the
 * peak.
 */
export interface QueueLevel {
  bin_ns: number;
  mean_permille: number[];
  peak: number[];
}

/**
 * A named range of the host (record_function and the like) within the ranges around it; means per step.
 * path: the names from the outermost range to this one; a path in two phases has two rows. host_ns: time in which it
 * is open, added up over the threads; self_ns: less the ranges inside it. device_ns: time in which work launched
 * inside it runs (union over streams and devices); idle_ns: idle time charged to such work; launches: activities.
 */
export interface RangeRow {
  path: string[];
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  count: number;
  host_ns: number;
  self_ns: number;
  device_ns: number;
  idle_ns: number;
  launches: number;
}

/**
 * One metric of a job by rank and step.
 * spans: a row each, the span of a rank; steps: a column each. values: base64 of 32-bit floats, little endian: a zero,
 * so that no text begins like a path (`ingest.private_paths`), then row by row; NaN where a rank has no such step or
 * the metric is not known in it. least_high: the colours reach at least so far up, so that what is small looks small;
 * 0: as far as the values. reason: why none of them is known.
 */
export interface RankMap {
  metric: string;
  spans: string[];
  steps: string[];
  values: string;
  least_high: number;
  reason: Reason | null;
}

/**
 * A metric of the catalogue over ranks and steps.
 * values: one row for each of `JobRanks.ranks`, one column for each of `JobRanks.steps`; None where the rank has no
 * such step or the metric is not measurable in it. reason: why no value is known at all; else None.
 */
export interface RankMatrix {
  metric: string;
  values: ((number | null)[])[];
  reason: Reason | null;
}

/**
 * One rank. key: what the caller calls its span; host: None where its worker's name tells none. steps: of the job's
 * steps, those that it recorded. cut_short: its file ends before the recording does.
 * Of its matched collectives, sums over `JobRanks.matched_steps`: matched: how many; transfer_ns + wait_ns is what
 * they take on this rank, wait_ns until the last rank had arrived; exposed_wait_ns: of wait_ns, at most so much no
 * computation hides. last: at how many this rank arrived last; caused_ns: waits of the others that end with its
 * arrival. Over all ranks, wait_ns and caused_ns have the same sum. All 0 where nothing is matched. tokens_sent,
 * tokens_received: as of `RoutedTokens`; None where not known.
 * clock_offset_ns: what is added to this rank's times to have those of the first rank; None where that is not known.
 */
export interface RankRow {
  rank: number;
  key: string;
  worker: string;
  host: string | null;
  steps: number;
  mean_step_ns: number;
  cut_short: boolean;
  matched: number;
  transfer_ns: number;
  wait_ns: number;
  exposed_wait_ns: number;
  last: number;
  caused_ns: number;
  clock_offset_ns: number | null;
  tokens_sent: number | null;
  tokens_received: number | null;
}

/**
 * The ranks of the job that a span is of.
 * job: None where fewer than two ranks are read; its step_time has no values, which a RankMap has. caused_ns: of each
 * of its ranks, what each of the others waits for it and no computation hides, a step, as a mean; empty where nothing
 * is matched. spans: ids of the spans that the page is of, in the order of the ranks; read, found: how many of its
 * ranks are read, of how many. causes: why each of job.late is late, in words; turns: each of job.imbalance_causes,
 * which are of the late rank of each step. path: what the step consists of, None where that is not known; pipeline:
 * which one the ranks are, None for none. what_if: job.what_if in words. do_first: what the first of the insights says
 * to do and what it gains, None without insights. simulated: what a simulator says of it.
 */
export interface RanksPage {
  headline: Headline;
  job: JobRanks | null;
  caused_ns: number[];
  spans: string[];
  read: number;
  found: number;
  titles: Partial<Record<RanksTitleId, Phrase>>;
  causes: Phrase[];
  turns: Phrase[];
  path: Phrase | null;
  pipeline: Phrase | null;
  what_if: WhatIfTexts | null;
  notes: NoteText[];
  insights: Insight[];
  do_first: Phrase | null;
  simulated: string | null;
}

/**
 * exchanges: every collective of the steps, up to a number; empty in a summary of a release that did not match
 * them, and of a recording that has none. passes: those of micro-batches, of a rank of a pipeline; else empty.
 * reduced: what the recording's own work lets them begin by; empty without work on a device.
 */
export interface RanksResult {
  exchanges: Exchanges;
  passes: Passes;
  reduced: Reduced;
}

/**
 * Batches that are ready for the training loop: depth[i] from at_ns[i] on, of one loader. late_share: share of the
 * requests whose batch was not ready, None without a request.
 */
export interface ReadyQueue {
  loader: number;
  at_ns: number[];
  depth: number[];
  late_share: number | null;
}

/**
 * What metrics and analyses return in place of a sentence, so that a stored result need not be measured again when
 * its words change. `values` fill the places of the code's template.
 */
export interface Reason {
  code: string;
  values: Record<string, Quantity>;
}

/**
 * captures: number of captures of work that is captured more than once, including the first time. steps: how many
 * steps contain one of them. step_ns, other_ns: mean length of these steps and of the others; other_ns is None if
 * there are no others.
 */
export interface Recaptures {
  captures: number;
  steps: number;
  step_ns: number;
  other_ns: number | null;
}

/**
 * Of the mean step. calls: checkpoints; ns: work on devices of what is computed again, or without any the time of
 * its ops; kept_bytes: what keeping it instead would take, on the main device, at most; None where memory is not
 * recorded.
 */
export interface Recomputed {
  calls: number;
  ns: number;
  kept_bytes: number | null;
}

/**
 * The recorder's data about the batches that the span's steps received; ns are means per batch, None if no batch
 * has the value.
 * main: the loader with the most waiting; every field is about it except lanes, queues, workers and slowest batches.
 * loaders, and their workers, lanes and queues, are in the order of the table of loaders.
 * sampled: how many of the batches the recorder sampled; cpu_share, core_wait_share, kind and bytes are of these. kind
 * is None if they are too few.
 * production_ns = dataset_ns + collate_ns, see `settled_batches`. transfer_ns: from the batch's end in the worker
 * until it is an object of the main process (and pinned); ready_ns: until asked for; wait_ns: the training loop
 * stands. consumer_ns: a step without waits for late batches; late_ns: those; None and 0 where the steps hold no mark
 * of this loader. batches_per_step: of the steps whose batches are recorded. lanes: of the window [start_ns, end_ns);
 * steps that begin in it, and when each of them does. overhead_ns: to receive a batch that is ready, see
 * `_receiving_ns`; sampler_ns: of that, to draw the indices of a later one. files: how many were used. lines: None for
 * a loader without workers, of which call stacks in the trace show more. held_ns: how long a produced batch waits
 * in its worker, because Python code of the dataset holds the interpreter; None where it does not.
 */
export interface Recorded {
  files: number;
  main: number;
  batches: number;
  dataset_ns: number | null;
  collate_ns: number | null;
  production_ns: number | null;
  production_spread_ns: number | null;
  transfer_ns: number | null;
  ready_ns: number | null;
  wait_ns: number | null;
  sampled: number;
  cpu_share: number | null;
  core_wait_share: number | null;
  kind: "cores" | "cpu" | "io" | "mixed" | null;
  bytes: number | null;
  samples: number | null;
  consumer_ns: number | null;
  late_ns: number;
  batches_per_step: number;
  overhead_ns: number | null;
  cores: number | null;
  loaders: RecordedLoader[];
  workers: RecordedWorker[];
  start_ns: number;
  end_ns: number;
  steps: string[];
  marks_ns: number[];
  lanes: ProductionLane[];
  queues: ReadyQueue[];
  slowest: SlowBatch[];
  lines: RecordedLines | null;
  sampler_ns: number | null;
  held_ns: number | null;
}

/**
 * A line as frames name it, "data.py(41): __getitem__": the innermost one outside torch and Python's library.
 * share: of the time of batch production, est.; error: one standard deviation of it, as bursts differ (between
 * clusters, Cochran, Sampling Techniques, 3rd ed., 9A.1); ns_per_batch: that share of a batch.
 */
export interface RecordedLine {
  line: string;
  share: number;
  error: number;
  ns_per_batch: number;
}

/**
 * lines: longest first; empty with why. samples, bursts: that they rest on. whole: of the whole recording, because
 * there are too few in the span.
 */
export interface RecordedLines {
  lines: RecordedLine[];
  samples: number;
  bursts: number;
  whole: boolean;
  why: Reason | null;
}

/**
 * A loader as its recorder wrote it. label: its name in the table of loaders, or a new one if it is not in the
 * table; batches: taken within the steps.
 */
export interface RecordedLoader {
  loader: number;
  dataset: string | null;
  workers: number;
  prefetch: number | null;
  batch_size: number | null;
  pin_memory: boolean | null;
  persistent: boolean | null;
  in_order: boolean | null;
  iterable: boolean | null;
  label: string;
  batches: number;
}

/**
 * One worker process over the span; ns are means per batch, but busy_share is of the span.
 * worker: -1 is the main process itself. cpu_share: CPU time of the thread over the time in which it works;
 * core_wait_share: time in which it could have run but had no core, over the same; both of the batches that the
 * recorder sampled, `sampled` in number, None if there is none. kind: None if these are too few. ended: False if the
 * process was killed.
 */
export interface RecordedWorker {
  loader: number;
  worker: number;
  pid: number;
  batches: number;
  dataset_ns: number;
  collate_ns: number;
  sampled: number;
  cpu_share: number | null;
  core_wait_share: number | null;
  busy_share: number;
  kind: "cores" | "cpu" | "io" | "mixed" | null;
  ended: boolean | null;
}

/**
 * every: from one such step to the next. steps: their names. excess_ns: their mean length above the median of the
 * others, or where steps vary that at the place of what they do; outside_ns: of this, after ops and in none. name: the
 * op that takes most of what they call more often, "" without any; more: how many more calls of it each has.
 */
export interface RecurringWork {
  every: number;
  steps: string[];
  excess_ns: number;
  name: string;
  more: number;
  outside_ns: number;
}

/**
 * The graph of one rank, reduced to its exchanges. It is empty if the recording has no work on a device, no
 * collective of a step there, or more than can be reduced; also if it has no ops, because nothing then separates the
 * host's work from its waits.
 * unexplained: share of the recording that no edge explains, or of the work of devices whose launch is not recorded,
 * whichever is larger.
 * began, ended: of its steps, as recorded, relative to the origin, ns: what the host does first and last in them, and
 * the last of all work that they launched; 0 of a step without any.
 * recorded: as it is; instant_host: with a host that takes no time; no_loader: without waits for batches;
 * uninterrupted: without what single calls and kernels take longer than all others like them. The last two are empty
 * where there is nothing of that.
 */
export interface Reduced {
  unexplained: number;
  began: PackedColumn;
  ended: PackedColumn;
  recorded: Paths;
  instant_host: Paths;
  no_loader: Paths;
  uninterrupted: Paths;
}

/**
 * Per step, ns. copies: gradients copied out of buckets, copies_ns: the host's time for them.
 * searches: number of searches for unused parameters, search_ns: the host's time for them, idle_search_ns: the part of
 * it in which no device works. map_ns: for each search, the length of the median all-reduce of the used parameters in
 * which nothing computes: it follows other all-reduces, which waited for late ranks. parameters: number in that
 * all-reduce, all_used: whether each of them got a gradient in each step; None where the trace does not tell.
 */
export interface Reducer {
  copies: number;
  copies_ns: number;
  searches: number;
  search_ns: number;
  idle_search_ns: number;
  map_ns: number;
  parameters: number | null;
  all_used: boolean | null;
}

/** The time by which a part of the step is longer than predicted (shorter: below 0). */
export interface Residual {
  part: string;
  ns: number;
}

/** TFLOP/s for a type of inputs. tensor_cores: FP32 inputs have two roofs. */
export interface Roof {
  dtype: string;
  tensor_cores: boolean;
  tflops: number;
}

/**
 * The roofline of a device. memory_gbs: None where its peaks are not known. more_*: dots that are folded;
 * unknown_ns: kernel time in ops without a formula, or without recorded inputs. Collectives compute nothing, so their
 * time is not in it.
 */
export interface Roofline {
  memory_gbs: number | null;
  roofs: Roof[];
  dots: RooflineDot[];
  more_dots: number;
  more_ns: number;
  unknown_ns: number;
}

/**
 * Calls of one op on inputs of the same shapes and types, whose longest kernel is the same.
 * kernel, short      the longest one; kernel_count: kernels of a call, as a mean
 * calls, total_ns    of all their kernels, over the span
 * flops, bytes       of one call; bytes at least
 * tensor_cores       the longest kernel runs on them
 * roof_tflops        of the type of the inputs; None: the GPU or the type is not listed
 * efficiency         time at the roof / time
 * above              why that is more than 1: a kernel of the convolution says that it needs fewer operations
 * (Winograd, Fourier), caches may hold the inputs, or expanded ones be smaller than their shapes,
 * the clock may be higher than the data sheet says, or none of these; None: it is not
 * bound              what bounds it; None: the roofs are not known
 * gain_ns            over the span, at most, if it reached GOOD_FRACTION of its roof; 0 where the roofs are not known
 */
export interface RooflineDot {
  op: string;
  shapes: string;
  dtype: string;
  kernel: string;
  short: string;
  kernel_count: number;
  calls: number;
  total_ns: number;
  flops: number;
  bytes: number;
  tensor_cores: boolean;
  roof_tflops: number | null;
  efficiency: number | null;
  above: "algorithm" | "cache" | "clock" | "unexplained" | null;
  bound: "compute" | "grid" | "launch" | "memory" | null;
  gain_ns: number;
}

/**
 * Tokens that the ranks of a group exchange with their experts, sums over `steps` steps and `calls` all-to-alls to
 * the experts; those back are not counted. By rank, in the order of ranks: sent: to the experts of any rank, its own
 * included; received: for its own experts. Over all ranks of the group both have the same sum. hidden: elements of a
 * token.
 */
export interface RoutedTokens {
  group: string | null;
  ranks: number[];
  hidden: number;
  steps: number;
  calls: number;
  sent: number[];
  received: number[];
}

/**
 * A row of both sides, or of one of them: then the names of the other are None. Per step.
 * *_name: a kernel's, an op's, the calls as written, or from where to where a copy goes; *_short: to show. op, shapes,
 * module, source, phase: of the base, or of the candidate where it is new. *_ns: of a kernel or copy its time, of an
 * op its own, of calls how long the host is blocked. low, high: 95 % interval of the change, None where a side has too
 * few steps. status: "changed" is more than noise, and a microsecond at least.
 */
export interface RowChange {
  base_name: string | null;
  candidate_name: string | null;
  base_short: string | null;
  candidate_short: string | null;
  op: string | null;
  shapes: string;
  module: string | null;
  source: string | null;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad" | null;
  matched_by: "base_only" | "candidate_only" | "fused" | "kernel" | "module" | "name" | "op" | "op_name" | "place" | "shapes";
  status: "alike" | "changed" | "gone" | "new";
  base_ns: number;
  candidate_ns: number;
  low: number | null;
  high: number | null;
  base_calls: number;
  candidate_calls: number;
}

export interface RunEntry {
  name: string;
  simulated: boolean;
  workers: WorkerEntry[];
}

/**
 * A run, by the newest span that is read of its first worker.
 * work: the number of its group: runs whose steps do the same on the same machine, as far as the recordings show
 * (`comparison.fairness`); None where that cannot be told. trend_ns: mean step of each span that is read, of a single
 * span each step. fix: title of the first card that saves time, with what it gains per step, at most: that on which
 * the newest spans agree (`insights.run_advice`); None: none does. agreement: how far they do; None where they say the
 * same.
 */
export interface RunLine {
  run: string;
  worker: string;
  number: number;
  span: string;
  work: number | null;
  step_ns: number;
  trend_ns: number[];
  parts_ns: Parts;
  bound: Bound;
  fix: Phrase | null;
  agreement: Phrase | null;
  gain_ns: number;
  gain_fraction: number;
  job: Phrase;
  machine: Phrase;
}

/**
 * headline: of all lines; None where there are none. lines: in the order of the pickers. left: runs that are read
 * and whose lines are still to be made.
 */
export interface RunsPage {
  headline: Phrase | null;
  lines: RunLine[];
  left: number;
}

/** The texts of the Trends view: its headline, and titles by picture. */
export interface SaidOfRuns {
  headline: Headline;
  titles: Partial<Record<TrendsTitleId, Phrase>>;
}

/**
 * One tag of one folder of event files. Three lists of one length: the step and the time (epoch ns) that the job
 * gave each value, and the value; None where it is not finite.
 * source: the folder, as TensorBoard names its runs.
 */
export interface ScalarSeries {
  source: string;
  tag: string;
  steps: number[];
  wall_ns: number[];
  values: (number | null)[];
}

/** tags: what there is of a run, sorted; series: of the tag that was asked for, by folder. */
export interface Scalars {
  tags: string[];
  series: ScalarSeries[];
}

/**
 * The events of the whole span with some words in their name.
 * tracks: of each track that has any. count, total_ns: of the track that was asked for, else of all; nested events
 * are added up as well. next: number in time order, from 0, of the first that begins at the instant that was asked for
 * or later; count where none does. first: the number of the first one in hits. bins: how many begin in each of equal
 * parts of [bins_from_ns, bins_to_ns), which all events span.
 */
export interface SearchPage {
  count: number;
  total_ns: number;
  tracks: TrackHits[];
  next: number;
  first: number;
  hits: Hits;
  bins_from_ns: number;
  bins_to_ns: number;
  bins: number[];
}

/**
 * A part of the mean step as the view draws it: of `Parts` or `IdleNs` one or several. The segments sum to the mean
 * step. works: the device works; reasons: for which it is idle where it does not, as in IdleNs.
 */
export interface Segment {
  id: string;
  label: string;
  ns: number;
  colour: string;
  hatched: boolean;
  works: boolean;
  reasons: string[];
}

/**
 * A segment with free memory that blocks in use keep. pieces: of free memory; kept_by: the line of the largest
 * block in use.
 */
export interface SegmentRow {
  address: string;
  bytes: number;
  free_bytes: number;
  pieces: number;
  largest_bytes: number;
  blocks_in_use: number;
  kept_by: string | null;
}

/**
 * A step in ns with one part taking no time: the host's own time; the work of devices without exchanges; waits for
 * batches; exchanges between ranks; waits of calls for devices; the first two together.
 */
export interface Sensitivity {
  host: number;
  device: number;
  loader: number;
  communication: number;
  blocking: number;
  host_and_device: number;
}

/**
 * One metric over the steps of a span.
 * value is the span's own figure (not always the mean of the steps); steps has one entry per step; None is "not
 * measurable here" and then `reason` says why. device is None for figures of the whole process.
 */
export interface Series {
  metric: string;
  device: number | null;
  value: number | null;
  steps: (number | null)[];
  reason: Reason | null;
}

/**
 * runtime: CUDA or ROCm with its version, None if not recorded. with_*: what was recorded, each of which slows the
 * host. first_inputs: of the first products and convolutions of a step, empty if no op has them. half_share: share of
 * the calls of products and convolutions whose first input has 16 bits; None if no op has types.
 */
export interface Setup {
  runtime: string | null;
  with_stack: boolean;
  with_shapes: boolean;
  with_memory: boolean;
  first_inputs: OpInputs[];
  half_share: number | null;
}

/** concurrency: mean number of devices at work while any works. busy_ns by device, per step. */
export interface SeveralDevices {
  devices: number[];
  concurrency: number;
  busy_ns: number[];
  union_busy_ns: number;
  blockers: Blocker[];
}

export type Severity = "major" | "minor" | "warning";

/**
 * How much of the step a view explains: its bar in the sidebar. None: not measurable, with the reason.
 * meaning: what the share is of, where it is another than the view's usual one.
 */
export interface SidebarShare {
  share: number | null;
  colour: string;
  hatched: boolean;
  reason: Reason | null;
  meaning: Phrase | null;
}

/**
 * From where work is launched: a place within a phase, such as the buffer broadcast of the forward pass.
 * All per step, means over the steps. device_ns: time in which work launched here runs (union over streams). idle_ns
 * by reason: charged here because the activity that ended the gap was launched here; bubble_ns: what of it is
 * behind a blocking call (see BlockingRow); split_ns: what of it is late while few launches lie between two calls
 * that wait (`split_late_ns`). each_ns: the median of the activities launched here, without exchanges between ranks;
 * None where there are no others. run_ahead_p50_ns, starved_share: None without launches. examples: the longest gaps
 * that the host is late for, else the longest of any reason.
 */
export interface SiteRow {
  site: string;
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  label: string;
  launches: number;
  starved_share: number | null;
  run_ahead_p50_ns: number | null;
  device_ns: number;
  idle_ns: IdleNs;
  bubble_ns: number;
  examples: Evidence[];
  split_ns: number;
  each_ns: number | null;
}

/**
 * One of the slowest batches to produce. step: the step that received it, None outside the steps; wait_ns: how long
 * the training loop waited for it. start_ns is relative to the span's origin.
 */
export interface SlowBatch {
  loader: number;
  batch: number;
  worker: number;
  step: string | null;
  start_ns: number;
  total_ns: number;
  dataset_ns: number;
  collate_ns: number;
  cpu_share: number | null;
  wait_ns: number;
}

/** A step of three times the usual. off_cpu_ns: its thread did not run, and waited for no batch. */
export interface SlowJobStep {
  step: number;
  end_ns: number;
  duration_ns: number;
  wait_ns: number | null;
  collecting_ns: number;
  off_cpu_ns: number;
}

/**
 * A slow step (`metrics.outliers`), and the part that grew most over the part's median.
 * longest_event: the longest event of that part that starts in the step, where to look in the trace; None where the
 * part has no events of its own.
 */
export interface SlowStep {
  name: string;
  duration_ns: number;
  over_median_ns: number;
  grew: string;
  grew_ns: number;
  longest_event: string | null;
  longest_event_ns: number | null;
}

/** A memory snapshot in the pickers. rank, step: as its name has them. written_ns: epoch time. */
export interface SnapshotEntry {
  id: string;
  run: string;
  name: string;
  rank: number | null;
  step: number | null;
  file: string;
  file_bytes: number;
  written_ns: number;
}

/**
 * One device of a snapshot. device: its place in `summary.devices`. Times are ns from its oldest entry, and all are
 * before `end_ns`; timed: False where entries have no times, and each lasts a microsecond.
 * curve: None where no history was recorded. peak_ns: when most is in use. at_ns: the moment of which the stacks are,
 * the peak where none was asked for; at_bytes, at_count: of all allocations in use then; at_categories: parts of
 * at_bytes. strips: segments with their
 * blocks at the end; more_strips: how many others there are. growth: since another snapshot, if that was asked for.
 */
export interface SnapshotPage {
  headline: Headline;
  out_of_memory: Phrase[];
  summary: SnapshotSummary;
  device: number;
  timed: boolean;
  end_ns: number;
  peak_ns: number;
  curve: MemoryBins | null;
  at_ns: number;
  at_bytes: number;
  at_count: number;
  at_categories: CategoryBytes[];
  stacks: FlamePage | null;
  strips: Strip[];
  more_strips: number;
  growth: DeviceGrowth | null;
}

/**
 * A file. lost: numbers of entries that could not be read, by kind. growth: since an earlier snapshot, if one was
 * given.
 */
export interface SnapshotSummary {
  path: string;
  bytes: number;
  expandable_segments: boolean | null;
  devices: DeviceSnapshot[];
  lost: Record<string, number>;
  growth: DeviceGrowth[];
}

/**
 * A recorded line in its file. source: the name of the row that it is from; first, last: the lines of the function,
 * or the same line twice; 0 for "other".
 */
export interface SourceMark {
  source: string;
  meaning: "call" | "function" | "other" | "reached";
  first: number;
  last: number;
}

/**
 * One file. origin: where the text is from, None if there is none; path: its path in a named folder, for an editor.
 * marks: where the recorded lines of this file are in it.
 */
export interface SourceText {
  file: string;
  origin: "folder" | "recorded" | null;
  lines: string[];
  path: string | null;
  marks: SourceMark[];
}

/**
 * One span in the pickers. id is opaque and stable; number counts from 1 in time order within the worker.
 * recorded_ns: epoch time of its recording; until it is read what the file's name says, else when it was written.
 * has_gpu: None until it is read.
 */
export interface SpanEntry {
  id: string;
  number: number;
  file: string;
  file_bytes: number;
  recorded_ns: number;
  has_gpu: boolean | null;
  state: SpanState;
  mean_step_ns: number | null;
  first_step: string | null;
  last_step: string | null;
  progress: Progress | null;
  error: Problem | null;
}

/**
 * The facts next to the views: which span this is, of what kind of job, and what recorded it. quality: what is
 * wrong with the recording; sidebar: by view id.
 */
export interface SpanHead {
  id: string;
  run: string;
  worker: string;
  number: number;
  span_count: number;
  file: string;
  file_bytes: number;
  events: number;
  origin_ns: number;
  step_count: number;
  steps_by: "inferred" | "marks" | "recording";
  first_step: string | null;
  last_step: string | null;
  device_names: string[];
  sm_count: number | null;
  rank: number | null;
  world_size: number | null;
  simulated: string | null;
  job: JobText;
  notes: NoteText[];
  quality: FindingText[];
  sidebar: Record<string, SidebarShare>;
}

/**
 * One view of one span. `result` is the view's own result type; insights only in the overview and the Host view,
 * could_be, tried, largest and excess, a sentence for each kind of excess, only in the overview. titles: see
 * `insights.wording.title_ids`. notes: on the result itself; those on the recording are in head.
 * neighbours: the same view's series in the other spans of the worker, for spark lines. shown_step: the step with
 * which the timeline opens, since the headline speaks of what it shows; None: any. gap: the view's analysis failed on
 * this file; headline says so, and result has no values.
 */
export interface SpanPage {
  head: SpanHead;
  headline: Headline;
  result: unknown;
  titles: Partial<Record<SpanTitleId, Phrase>>;
  notes: NoteText[];
  insights: Insight[];
  insights_remark: Phrase | null;
  could_be: CouldBe | null;
  tried: Tried | null;
  largest: Largest | null;
  excess: Phrase[];
  neighbours: Neighbour[];
  shown_step: string | null;
  gap: boolean;
}

export type SpanState = "failed" | "reading" | "ready" | "unread";

/** Kernel time in ns: kernel_ns = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns. */
export interface Split {
  kernel_ns: number;
  tensor_core_ns: number;
  matmul_like_ns: number;
  unknown_ns: number;
  other_ns: number;
}

/** The split of the time of the kernels that start in one step. */
export interface SplitStep {
  name: string;
  split: Split;
}

/**
 * A rank of the pipeline; stages: which it computes. ns a step, which sum to step_ns: forward_ns, backward_ns: its
 * passes; other_ns: what it does besides, such as the optimizer; and what it is idle, by cause.
 */
export interface StageRow {
  rank: number;
  stages: number[];
  step_ns: number;
  forward_ns: number;
  backward_ns: number;
  other_ns: number;
  schedule_ns: number;
  imbalance_ns: number;
  ordering_ns: number;
  transfer_ns: number;
}

/**
 * Some steps in a row. step: number of the first; the times are means but for longest_ns. A wait and a size that
 * are not known are None. recorded: the profiler recorded some of them.
 */
export interface StepBin {
  step: number;
  steps: number;
  end_ns: number;
  mean_ns: number;
  longest_ns: number;
  wait_ns: number | null;
  collecting_ns: number;
  rss_bytes: number | null;
  recorded: boolean;
}

/** The mean step. low, high, distinguishable, enough_steps: see `Change`; *_steps: how many were compared. */
export interface StepChange {
  base_ns: number;
  candidate_ns: number;
  low: number | null;
  high: number | null;
  distinguishable: boolean | null;
  enough_steps: number | null;
  base_steps: number;
  candidate_steps: number;
}

/** Where a step is in its span, relative to the span's origin. left_out_ns: what of it is not judged. */
export interface StepMark {
  name: string;
  start_ns: number;
  end_ns: number;
  left_out_ns: number;
}

/**
 * Medians of the steps of a job, ns. recorded, plain: of how many. differ: their 95 % intervals do not overlap, so
 * that one of them is longer by more than steps differ from each other. plain_p5_ns: 5th percentile of the plain
 * steps.
 */
export interface StepPace {
  recorded_ns: number;
  recorded: number;
  plain_ns: number;
  plain: number;
  differ: boolean;
  plain_p5_ns: number | null;
}

/**
 * One step. parts_ns sums to duration_ns. start_ns is relative to the span's origin; slow: an outlier.
 * gpu_busy_ns is the time in which any device works; None in a trace without device activity.
 * before_recording_ns to profiler_ns are in the step, and left out of verdicts, of means behind gains and of cards:
 * the main device runs work from before the recording; it is idle while the host does what comes once; nothing of it
 * follows; it is idle while the profiler itself works. steady_ns: what is left without excess; excess_ns: by kind.
 */
export interface StepRow {
  name: string;
  start_ns: number;
  duration_ns: number;
  host_ns: number;
  parts_ns: Parts;
  slow: boolean;
  gpu_busy_ns: number | null;
  before_recording_ns: number;
  once_ns: number;
  after_recording_ns: number;
  profiler_ns: number;
  steady_ns: number;
  excess_ns: ExcessNs;
}

/**
 * A segment. free_bytes: free while blocks of it are in use, 0 where none is. offset, size: columns, of each block,
 * bytes; used: whether it is in use, or other streams may still use it; line: place in `lines` of what allocated it,
 * -1 where that is not recorded. more_blocks: at the end, left out.
 */
export interface Strip {
  address: string;
  bytes: number;
  free_bytes: number;
  in_use_bytes: number;
  offset: number[];
  size: number[];
  used: boolean[];
  line: number[];
  lines: string[];
  more_blocks: number;
}

/** unknown says why there is nothing to split (no kernels, a GPU without tensor cores). */
export interface TensorCoresResult {
  unknown: Reason | null;
  devices: DeviceSplit[];
  tiles: Series[];
}

/**
 * words: the forms in which it stands in sentences; a capital letter at the front of one is the same word. views:
 * where it is a head of a column or of a row, so that the view says in a line what it means.
 */
export interface Term {
  words: string[];
  meaning: string;
  views: string[];
}

/** A process of the job. pace: what profiling costs; None where too few steps were timed. */
export interface TimedWorker {
  worker: string;
  steps: number;
  bins: StepBin[];
  slow: SlowJobStep[];
  pace: StepPace | null;
}

/**
 * The events that touch [start_ns, end_ns), merged where narrower than detail_ns. colours: tokens of meaning.
 * names: as they are written on boxes; full_names: each as the trace has it, "" where that is the same.
 */
export interface TimelinePage {
  start_ns: number;
  end_ns: number;
  detail_ns: number;
  tracks: Track[];
  names: string[];
  full_names: string[];
  colours: string[];
  boxes: Boxes;
  queue: Depth | null;
}

/** first_ns, last_ns: from the first event to the end of the last one. */
export interface TimelineResult {
  first_ns: number;
  last_ns: number;
  steps: TimelineStep[];
}

/** A step's name and its window, relative to the span's origin. */
export interface TimelineStep {
  name: string;
  start_ns: number;
  end_ns: number;
}

/**
 * One track of the picture. rows: nesting levels, at least one.
 * group: the heading above it ("GPU 0", "Process 4711"); label: "Stream 7", "Thread 4711 (pt_autograd_0)".
 * pinned: it is among those that a reader wants in sight whatever else is: steps, phases, what does not repeat, the
 * loader, the busiest streams.
 * all_rows: nesting levels with every Python frame; more than `rows` where frames are folded.
 */
export interface Track {
  id: number;
  kind: "calls" | "excess" | "loader" | "phases" | "ranges" | "steps" | "stream" | "thread";
  group: string;
  label: string;
  rows: number;
  pinned: boolean;
  all_rows: number;
}

/** How many events of a track were found, and how long they are in all. */
export interface TrackHits {
  track: number;
  count: number;
  total_ns: number;
}

/**
 * One metric of the spans of a TrendsPage that left it out. spans: their ids; values, steps: for each span, its own
 * figure and those of its steps. reasons: why the metric is unknown in a span, by span id.
 */
export interface TrendSeries {
  metric: string;
  spans: string[];
  values: (number | null)[];
  steps: ((number | null)[])[];
  reasons: Record<string, Reason>;
}

/** One span of the trends page; result is None while it is not read. */
export interface TrendSpan {
  id: string;
  run: string;
  worker: string;
  number: number;
  rank: number | null;
  state: SpanState;
  result: TrendsResult | null;
}

/**
 * Trends over many spans. headline judges them together; titles by picture. changes: where a figure becomes another
 * one at a span, largest first. left_out: older spans, too many for a page.
 */
export interface TrendsPage {
  headline: Headline;
  spans: TrendSpan[];
  titles: Partial<Record<TrendsTitleId, Phrase>>;
  changes: Change[];
  left_out: number;
}

/**
 * origin_ns: epoch time of the span's t = 0. series holds every metric of the catalogue, measurable or not, but
 * of a GPU's counters those that were sampled.
 */
export interface TrendsResult {
  origin_ns: number;
  steps: StepMark[];
  series: Series[];
  time_bins: MetricBins[];
  slow_steps: SlowStep[];
}

/**
 * The mean step after any set of cards, by a replay.
 * ids: cards whose change can be replayed, in their order. steps: by set, bit n of a step's place says whether ids[n]
 * is in it; steps[0] is the mean step itself. ticked: the set that is shown first. why_not: why other cards, or all,
 * are not among them.
 */
export interface Tried {
  ids: string[];
  steps: CouldBe[];
  ticked: string[];
  why_not: Phrase;
}

/** What a quantity is measured in. Fractions are 0-1. */
export type Unit = "bytes" | "bytes_per_second" | "code" | "count" | "fraction" | "ns" | "number" | "text";

/**
 * unused, all: nodes of forward ops in those steps that have unused ones, per step. steps: names of these steps.
 * name: the op that takes most of the time of the ops that created unused nodes; ns: the time of them all, mean over
 * all steps. start_ns, end_ns: from the first to the last one in the step in which that takes longest.
 */
export interface UnusedGraph {
  unused: number;
  all: number;
  steps: string[];
  name: string;
  ns: number;
  start_ns: number;
  end_ns: number;
}

/**
 * tiles: the metrics whose tiles are at the top of the view, so that it can be laid out before they are known.
 * share: the whole of which the list of views shows the view's share; empty where it shows none.
 */
export interface ViewMeaning {
  id: string;
  title: string;
  tiles: string[];
  share: string;
}

/** What the mean exposed wait is for. starts: where epochs begin, None where none does in these steps. */
export interface WaitCauses {
  shares: WaitShares;
  starts: EpochStarts | null;
  jitter: Jitter | null;
  overhead: Overhead | null;
}

/** Long gaps in which the host does the same thing: how many, and how late they are together, over the span. */
export interface WaitName {
  name: string | null;
  compiled: boolean;
  unusual: boolean;
  count: number;
  late_ns: number;
}

/**
 * ns of the mean step; they sum to its judged exposed wait. first_ns: where epochs end and begin; others_ns: for
 * other loaders than the one with the most waiting.
 */
export interface WaitShares {
  first_ns: number;
  late_ns: number;
  jitter_ns: number;
  overhead_ns: number;
  others_ns: number;
}

/** Answered with 202 while a span is not read yet. file_number of file_count: its place in the queue. */
export interface Waiting {
  state: SpanState;
  file: string;
  file_number: number;
  file_count: number;
  progress: Progress | null;
}

/**
 * Kernels with the same fault, per step. name: the one with most of the gain, and site where it comes from; None if
 * there is none.
 * gain_ns   at most, if the fault were fixed
 */
export interface Waste {
  name: string | null;
  count: number;
  total_ns: number;
  gain_ns: number;
  site: KernelSite | null;
}

/** rows sum to the mean step on both sides. more: how many of the smallest changes are folded into `rest`. */
export interface Waterfall {
  by: "kernel" | "module" | "op" | "part" | "phase" | "reason";
  rows: Contribution[];
  more: number;
}

/**
 * The steady step of a recording and what changes would make of it, those that help most first.
 * median_step_ns    what is called the steady step everywhere else: the median of what steps take without excess
 * steady_step_ns    the recorded step of middle length without its excess, replayed: as it follows itself again and
 * again, it is longer than the median where a few steps wait for the batches of all
 * replayed_step_ns  the same step as it was recorded, with its excess, replayed
 * recorded_step_ns  that step from its start to the next one's; the mean where a loader sets the pace
 * device_ns         the work of the device with most of it in the steady step, without exchanges
 * device_curve      the step in ns without (n / last) ** 2 of it, for n from 0 to the last
 * pace              what sets the pace by the sensitivity: the value of a `Bound`
 * wait_error        by what share replayed blocking calls differ from recorded ones; None without such calls
 * unexplained       share of the steady step that no edge explains
 * unlinked          share of the work of devices whose launch is not recorded, without that from before the recording
 * trusted           whether the replay gives back the recorded step, is of most of the mean step, and says what sets
 * its pace
 * holds_unprofiled  whether the pace is the same if profiling has doubled the time of the host
 * half_host_ns      the steady step if it has; 0 where a device sets the pace in any case
 * for_ranks_ns      what its collectives wait for other ranks. The sensitivity is that of all ranks alike; a change is
 * one of this rank, so it takes none of this away
 * sets              every set of the changes that help most, those among them that help only after the others; none
 * of a replay that is not to be trusted
 */
export interface WhatIf {
  recorded_step_ns: number;
  steady_step_ns: number;
  replayed_step_ns: number;
  pace: string;
  sensitivity: Sensitivity;
  wait_error: number | null;
  unexplained: number;
  unlinked: number;
  trusted: boolean;
  holds_unprofiled: boolean;
  changes: Gain[];
  combined: Combined[];
  device_ns: number;
  device_curve: number[];
  for_ranks_ns: number;
  median_step_ns: number;
  sets: ChangedStep[];
  half_host_ns: number;
}

/**
 * The texts of a `JobReplay`. replay: how well the replay reproduces the recording; changes, larger: one sentence
 * for each item of the field of that name; remark: why there is no estimate for more ranks, else None.
 */
export interface WhatIfTexts {
  replay: Phrase;
  changes: Phrase[];
  larger: Phrase[];
  remark: Phrase | null;
}

/**
 * repetitions: how many are recorded; first, last: the tokens of one text that they compute, added: how many of
 * these are new. ns: what computing the earlier tokens takes in a step; None where it cannot be told. by_slope: that
 * follows from how much longer repetitions take with more tokens, and not from the work of products. is_causal:
 * whether all attention ops say that no token depends on later ones; None where one does not say it.
 */
export interface WithoutCache {
  repetitions: number;
  first: number;
  last: number;
  added: number;
  ns: number | null;
  by_slope: boolean;
  is_causal: boolean | null;
}

/**
 * Step time against number of workers.
 * measured_workers: 0 for a loader in the main process; measured_step_ns: the mean step of this span. recommended:
 * the number to set, 0 where workers would cost more than they bring; floor_ns: the step that it leaves; gain_ns:
 * measured less floor, 0 where no more workers are needed; needed: without regard to cores. epochs_ns: in each point
 * and in the measured step, for epochs that begin. batches: that a step takes. cores: of the recording machine, where
 * a recorder says it; limits: what may keep the curve from coming true.
 */
export interface WorkerCurve {
  points: CurvePoint[];
  measured_workers: number;
  measured_step_ns: number;
  recommended: number;
  floor_ns: number;
  gain_ns: number;
  needed: number;
  epochs_ns: number;
  batches: number;
  cores: number | null;
  limits: Reason[];
}

export interface WorkerEntry {
  name: string;
  rank: number | null;
  spans: SpanEntry[];
}

export const MOST_IN_CHAIN = 12;
