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
  | "undisturbed_host_time"
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
 * Work of the training thread inside the loader. name: that of an op; None for Python outside any op. ns_per_batch:
 * its self time. lines: the lines from which it is called, longest first, as far as call stacks show them; together
 * they take at most as long as the activity.
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
 * An allocation.
 * op, outer_op   the innermost and the outermost op around it; None outside of ops
 * module, line   the user's module and line around it; in the backward pass those of the forward op that created the
 * node
 * died_ns        when it is freed; None if it outlives the recording
 * lives_steps    number of steps after its own in which it is freed; None if either step is not known
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

/** A call by which the caching allocator requests memory from the driver, or returns it. */
export interface AllocatorCall {
  name: string;
  start_ns: number;
}

/**
 * Autograd's anomaly checks in the mean step.
 * checks   number of gradients that are checked
 * ns       recorded time in these checks and in keeping stacks; with a GPU the checks wait for it
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

/**
 * A bin of kernel time. `short` is its label over a column, and `answer` its answer to the question whether a
 * kernel runs on tensor cores.
 */
export interface BinMeaning {
  id: "matmul_like" | "other" | "tensor_core" | "unknown";
  label: string;
  short: string;
  answer: string;
  meaning: string;
  colour: string;
  hatched: boolean;
}

/**
 * An op for one device that blocks the launching thread while another device is idle. idle_ns: idle time of that
 * other device per step.
 */
export interface Blocker {
  op: string;
  by_device: number;
  idle_device: number;
  idle_ns: number;
}

/**
 * The blocking calls of one place, as in `BlockingRow`; sums over the compared steps.
 * total_ns       how long the calls block the host
 * deviation_ns   standard deviation of this time per step; None if there is one step
 * source         the source line without its number, which changes when a line is added above it
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
 * Groups of blocking calls that are alike: they have the same op, outermost op, site, call, direction, user range,
 * module and source line.
 * op, outer_op     the innermost and the outermost op around the call; None outside any recorded op
 * call             the group's calls as in the trace, such as "cudaMemcpyAsync + cudaStreamSynchronize"
 * kind             sync, pageable_copy, copy or allocator
 * direction        direction of the group's copy, as in CopyRow; None if it copies nothing
 * phase, site      as in SiteRow
 * source           the innermost frame outside torch, such as "train.py(5): step"; None without stacks
 * forward_*        for work of the backward pass, the op, module and line of the forward pass that created it; None
 * for other work, or if not known
 * count, blocked_ns, bubble_ns   means per step; bubbles are disjoint
 * bytes            bytes that are copied per step; None if nothing is copied
 * device           the device that idles in the bubbles
 * worst_*          the costliest group, from its start to the end of its bubble
 * collective       what ranks exchange just before, if the call waits for that: "all-reduce"; otherwise None
 * reads            the outermost op around the call that reads values or sizes of results, such as aten::allclose
 * within an op of the model; None if there is none
 * feeds            the op of the CPU that takes most of the time until results of its work are copied back to the
 * device in the same step; None if nothing is, or if few bytes are copied to the host
 * checks           the op that looks for infinite gradients, if a gradient scaler reads by the call what it found;
 * otherwise None
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
  checks: string | null;
  feeds: string | null;
}

/** What would have to become faster first. */
export type Bound = "communication" | "cpu" | "dependency" | "gpu" | "host" | "input" | "mixed" | "sync" | "unknown";

/**
 * Events as columns of equal length, ordered by track, row and start. Events that are too narrow to see are merged
 * into one box.
 * start_ns   relative to the window's start
 * count      number of its events
 * event      number of the longest one, by which its details are requested
 * name       place of that one's name in `names`
 * colour     place in `colours`
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
 * Whether waits come in bursts, for the longest epoch; times are means in ns.
 * consumer_ns       the step without exposed waits, per batch
 * workers           number of workers that the period shows; where it is None, `why` says why
 * workers_from      the evidence ("stacks" in summaries of earlier releases)
 * period            distance of similar waits, in batches
 * autocorrelation   correlation of waits at that distance
 * long_wait_ns      mean wait for the worker with the most waiting
 * short_wait_ns     time for a prefetched batch, the tenth percentile of the other waits; None if these are not much
 * shorter
 * production_ns, spread_ns   one worker's time for one batch, and its standard deviation
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

/**
 * A wait in the order of the batches: its step, its length, whether it is one of the long ones, and how much of it
 * the device's work hides.
 */
export interface BurstStep {
  step: string;
  wait_ns: number;
  long: boolean;
  hidden_ns: number;
}

/**
 * Busy time of [start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins.
 * of        whether busy_ns is of the GPUs or, in a recording without one, of the host
 * busy_ns   busy time in each bin, summed over the devices
 * kernels   number of kernels that begin in each bin
 * most      the kernel names with the most time in the window, the longest first
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
 * the order of IdleNs. bounds: a verdict (Bound) as an adjective; paces: what sets the pace then, in the words of the
 * Overview; causes: why the host pauses; phases: of a step, in their order; kernel_bins: of kernel time, by tensor
 * cores; production_parts: of a batch; memory_parts: kinds of memory; limits: what limits a worker; roles: what
 * process groups exchange for; amd_labels: by id of a view, metric or bin what it is called on an AMD GPU; cards: what
 * each card rests on in any trace; terms: what is explained where it stands in a sentence.
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
  paces: Record<string, string>;
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

/** The bytes of a category. count: number of allocations; 0 for memory from before the recording. */
export interface CategoryBytes {
  category: "activations" | "before_recording" | "gradients" | "inputs" | "optimizer_state" | "parameters" | "temporary" | "unknown";
  bytes: number;
  count: number;
}

/**
 * Why a rank is late. With cpu_interrupted and gpu_interrupted most of the excess is in calls or kernels that take
 * far longer than others like them. With unrecorded, launched work waits while the rank runs nothing that is recorded.
 * own_ns, others_ns: time per step of this rank, and median time of the other ranks. metric: of the catalogue, None if
 * the cause is about kernels. name: of the kernel or op that shows the cause most, None for none. share: excess of
 * own_ns over others_ns / time per step that another rank waits for this one. factor: how many times as long the same
 * kernels take (slower_kernels), as much work there is (more_work), or as much is exchanged in all-to-alls
 * (more_received), compared with the other ranks; else None. tokens, others_tokens: tokens that its experts receive
 * per step, and the median of the other ranks (more_received); None where the trace does not show them.
 */
export interface Cause {
  id: "allocator" | "blocking" | "copies" | "cpu_interrupted" | "cpu_work" | "data_loading" | "gpu_interrupted" | "host" | "more_received" | "more_work" | "python" | "slower_cpu" | "slower_kernels" | "unknown" | "unrecorded";
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

/**
 * The chains of one kind; means per step.
 * site       where the chain with the most time comes from
 * ops        the first distinct ops of that chain
 * gain_ns    upper bound of what fusing them would save
 */
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

/** The changes of one kind of rows. more: how many rows of smaller changes are left out. */
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

/**
 * What an op allocates and frees within a step; means per step. op: None outside of ops. largest_bytes: size of the
 * largest allocation.
 */
export interface ChurnRow {
  op: string | null;
  count: number;
  bytes: number;
  largest_bytes: number;
}

/**
 * Whether times of different ranks can be shown on one clock. residual_ns: 95th percentile of the difference
 * between ends of collectives that end together, after the offsets are subtracted; None without enough collectives.
 * reason: why times are not shown, and no offset is given; None where they are.
 */
export interface Clocks {
  residual_ns: number | null;
  reason: Reason | null;
}

/**
 * One line of code; sums over the steps.
 * source            for example "train.py(54): step"
 * calls             how often the function is called; None if lines are those of calls
 * host_self_ns      time on the main thread, including Python's own time
 * host_total_ns     the same, with what the line calls; a line that calls itself counts once
 * device_ns         time of what it launches; None if nothing ran on a device
 * launches          number of kernels, copies and memsets that it launches; None likewise
 * idle_ns           how long devices had nothing to do until what it launches began, without waits for batches; None
 * likewise
 * allocated_bytes   bytes that it allocates, freed or not, on the GPUs, or on the CPU if no GPU's were recorded; None
 * if none were
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

/** Sums over the steps, ns and bytes. The fields are as in `CodeLine`. */
export interface CodeLineSums {
  host_self_ns: number;
  device_ns: number | null;
  launches: number | null;
  idle_ns: number | null;
  allocated_bytes: number | null;
}

/**
 * Collectives of one kind in one group of ranks; means over the steps, per step.
 * kind, label            key of KIND_LABELS, and the name there
 * group, ranks, dtype    None if the trace does not show them, and in the row that merges all rows beyond MOST_ROWS
 * bytes                  bytes of all these collectives in a step
 * best_rate              the highest rate of any of them, bytes per second; like bytes, None if the bytes of any are
 * not recorded
 * running_ns             time in which one of them runs, including waits for other ranks
 * longest_ns             length of the longest one of all steps
 * exposed_ns             the part of running_ns in which no computation runs
 * Parts of exposed_ns, which overlap:
 * wait_ns                estimated waits for other ranks; None without a GPU, where ranks share the processor
 * compute_stream_ns      on a stream that the model computes on
 * forward_ns             launched by the model's forward pass, as by layers that are split over ranks
 * buffers_ns             launched by DDP's forward pass for the model's buffers
 * nodes_ns               launched by nodes of the backward pass, and not by hooks as for gradients
 * early_ns               could be exchanged by a later pass before the same optimizer step; without estimated waits
 * norms_ns               launched by SyncBatchNorm, for the statistics of a batch
 * in_backward            number of them that the backward pass launches; None if the place of any launch is not known
 * last                   None unless every step ends with one of these collectives, and there are others. It is also
 * None if FSDP launches any of them, because it gathers parameters of layers that differ in
 * size, or if a kernel of a layer starts between the last one and the end of its step
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
  last: LastCall | null;
  norms_ns: number;
  buffers_ns: number;
  nodes_ns: number;
  in_backward: number | null;
}

/** A step in ns after several changes; None where too much is unexplained. */
export interface Combined {
  ids: string[];
  step_ns: number | null;
}

/**
 * What the mean step exchanges, in its judged time.
 * running_ns            time in which a collective runs
 * exposed_ns            the part of running_ns in which no computation runs
 * wait_ns               estimated waits for other ranks, over all steps
 * steady_wait_ns        the same over the steps after the first one, in which ranks wait for each other's profiler to
 * start; None with fewer than FEWEST_STEPS steps
 * computing_ns          time in which the model computes
 * free_compute_ns       the part of computing_ns in which no collective runs
 * free_backward_ns      the part of free_compute_ns that can hide gradients: it lies in backward passes whose
 * gradients are reduced and cannot wait for a later pass, and excludes before_gradients_ns;
 * None if the trace shows no such pass
 * before_gradients_ns   free time of these passes before their first gradient is ready
 * rows                  most exposed first; their exposed_ns sum to exposed_ns
 * examples              the longest exposed ranges
 * waits                 the collectives with the longest estimated waits
 * reducer               None without DistributedDataParallel, and where that only exchanges gradients
 * passes                the largest number of backward passes after which the same gradients are exchanged before one
 * optimizer step; 0 if they are exchanged once
 */
export interface Communication {
  running_ns: number;
  exposed_ns: number;
  wait_ns: number;
  steady_wait_ns: number | null;
  computing_ns: number;
  free_compute_ns: number;
  rows: CollectiveRow[];
  examples: Evidence[];
  waits: Evidence[];
  reducer: Reducer | null;
  passes: number;
  free_backward_ns: number | null;
  before_gradients_ns: number;
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
 * The figures of a span that are compared. Sums of kernels and ops are those of its whole steps. All are empty in a
 * summary of a release that did not compare.
 * phases             labels, in order
 * kernels            of the main device, by place of origin
 * more_kernels_ns    time of all other places
 * ops                on the host
 * blocking, copies   by place of origin
 * known_products     share of the time of the main device's products whose operations are known; None without products
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

/** A step. whole: whether it is compared. phases_ns: in the order of CompareResult.phases; they sum to the step. */
export interface ComparedStep {
  name: string;
  whole: boolean;
  phases_ns: number[];
}

/**
 * The comparison of two sides.
 * base, candidate   names of the sides
 * waterfalls        the first one is by part
 * tables            those that have a row
 * figures           those that a side has
 * same_work         as far as it is known
 * changes           what the candidate does in another way, as far as the traces show it; empty where the two do not
 * do the same work
 * predictions       of cards that advise these changes; likewise empty
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

/**
 * The copies for one purpose; means per step. op: the op that requests most of the copies. site: where the copies
 * with the most time come from.
 */
export interface CopiesOfKind {
  kind: "assignment" | "concatenation" | "layout" | "type";
  op: string;
  site: KernelSite;
  count: number;
  total_ns: number;
}

/**
 * The copies of one direction and kinds of memory from one place, as in `CopyRow`; sums over the compared steps.
 * op             the outermost op around the copies, or else the named range
 * bytes          None if they are not recorded for all copies
 * deviation_ns   standard deviation of their time per step; None if there is one step
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
 * Bytes per second of the recorded copies between host and GPU of 1 MB or more; of those with pinned memory, if
 * there are any. A direction without such copies has the rate of the other one.
 */
export interface CopyRates {
  to_device: number;
  to_host: number;
  pinned: boolean;
}

/**
 * Copies of one direction between two kinds of memory; means per step.
 * direction          "HtoD", "DtoH", "DtoD" and the like
 * source, target     kinds of memory: "Pageable", "Pinned", "Device"
 * pageable           whether one of the two is pageable
 * hidden_ns          time of the copies in which a kernel runs too
 * blocked_ns         time for which the calls that copy block the host
 * bytes_per_second   bytes / the copies' own time; None if bytes are not recorded
 * op                 the outermost op, or else the named range, whose copies take the most time
 * least_ns           their time at the peak rate of the link between host and device; None for copies within
 * one of them, and where bytes or the rate are not known
 * in_a_row           number of these copies that follow another of them without a kernel in between
 * created_ns         the part of `total_ns` in copies of tensors that an op creates right before (`is_created`)
 * made_by            the op that makes most of what is copied to the device: it computes on the CPU right before the
 * copies, outside of a loader; None if there is none
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
  least_ns: number | null;
  in_a_row: number;
  created_ns: number;
  made_by: string | null;
}

/** The judged step after some cards: parts_ns sums to duration_ns. saved_ns: how much longer the judged step is. */
export interface CouldBe {
  duration_ns: number;
  parts_ns: Parts;
  saved_ns: number;
}

/**
 * Ops of one kind, in the mean step.
 * usual_ns     their time in a step in which each op takes its lower median time; no more than self_ns
 * op, op_ns    the op with most of that time, and its time
 * calls        number of calls
 * dimensions   number of dimensions along which filters of convolutions, or windows of pooling, move for most of the
 * time, 2 for images; None if not recorded, and for other kinds
 */
export interface CpuGroup {
  id: "attention" | "compiled" | "compiling" | "convolution" | "matmul" | "other" | "pooling" | "random" | "reading" | "recurrent" | "unfused";
  self_ns: number;
  usual_ns: number;
  op: string;
  op_ns: number;
  calls: number;
  dimensions: number | null;
}

/**
 * An op on the CPU; means per step.
 * self_ns           its time without that of ops inside it and without one-time work, summed over the threads
 * usual_ns          its time in a step in which each call takes its lower median time, which is not affected by one
 * interruption; no more than self_ns
 * dtype             type of the first input in most of that time, in torch's words; None if not recorded
 * allocated_bytes   bytes that it allocates on the CPU, without the ops inside it, whether or not they are freed; None
 * if memory was not recorded
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
 * The work inside the optimizer's marks, in the mean step.
 * name         class of the optimizer in the marks
 * usual_ns     its time in a step in which each op takes its lower median time, which is not affected by other
 * processes that take the core; without making its state, as any form does in its first step
 * pass_ns      the part of usual_ns in the op that writes the parameters, which passes once over them and their states
 * between_ns   time of Python between the ops of an update, by the lower median over the steps, without long gaps
 * fused        whether one op does the whole update of a parameter
 * sparse       whether the update also takes sparse gradients
 */
export interface CpuOptimizer {
  name: string;
  self_ns: number;
  usual_ns: number;
  pass_ns: number;
  between_ns: number;
  calls: number;
  fused: boolean;
  sparse: boolean;
}

/**
 * What a CPU job computes, in the mean step.
 * ops               the ops with the most time, longest first
 * ops_ns            self time of all ops together
 * groups            all ops except the optimizer's, by kind
 * optimizer         None if the optimizer has no marks
 * step_ns           the mean step without one-time work
 * busy_ns           the part of step_ns in which any op runs
 * threads           number of threads that run ops
 * cores             number of cores of the machine; None if no recorder states it
 * recurrent_share   share of recurrent layers in the self time of the forward pass's ops of the kind "other"
 * table_fill_ns     time to fill gradients of embeddings with zeros, in a step in which each op takes its
 * lower median time; without tables that get a dense gradient from elsewhere, too
 * table_saved_ns    the part of it that sparse gradients save, with that of the optimizer's ops on these gradients and
 * of freeing them in `zero_grad`; None if shapes were not recorded
 * slow_half         None if no product has 16 bits, if the CPU computes them fast, or if shapes were not recorded
 * short_gaps_ns     time in which no op runs, in gaps of at most SHORT_GAP_NS between ops; without one-time work,
 * waits for batches and the optimizer
 * autocast          whether autocast casts the inputs of most layers to 16 bits
 * first_pass        whether the process makes its first node of autograd in the recording, so that it has run no pass
 * before it that makes any
 * channels_last     whether oneDNN's convolutions spend most of their time on images whose channels come last; None if
 * there are none
 */
export interface CpuWork {
  ops: CpuOpRow[];
  groups: CpuGroup[];
  optimizer: CpuOptimizer | null;
  ops_ns: number;
  busy_ns: number;
  step_ns: number;
  threads: number;
  cores: number | null;
  recurrent_share: number;
  table_fill_ns: number;
  table_saved_ns: number | null;
  slow_half: SlowHalf | null;
  short_gaps_ns: number;
  channels_last: boolean | null;
  autocast: boolean;
  first_pass: boolean;
}

/**
 * The course of memory as columns of equal length, one value for each of equal groups of entries: the most in use,
 * and the most reserved. time_us: time of the group's first entry, from that of the oldest entry.
 */
export interface Curve {
  time_us: number[];
  in_use_bytes: number[];
  reserved_bytes: number[];
}

/**
 * The prediction for this number of workers. step_ns: the mean step of the same span. loader_ns: the time for the
 * batches of a step.
 */
export interface CurvePoint {
  workers: number;
  step_ns: number;
  loader_ns: number;
}

/**
 * The result of the data loading view. unknown: why no waits are known. Figures are then None or empty, except
 * those that a recorder has of a loader that another thread reads.
 * main_loader: place in `loaders` of the one with the longest total wait (`most_waited`). Figures of this loader:
 * multiprocess, None where the iterator's name does not show it; batch_ns: time that one process needs for a batch;
 * consumer_ns: time per batch of the steps without late batches; batches_per_step; needed_workers; why_unknown: why
 * there is no number of workers and no curve; burst: if it has several processes.
 * iterable: whether the main loader's dataset is an iterable one; None if nothing shows it.
 * recorded: None without a recorder's files; recorder_notes: including files that were not used.
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
  iterable: boolean | null;
}

/**
 * What decides the length of a step. The path is followed back from the end of a step through all matched
 * collectives, to the rank that arrived last at each of them. Means over `steps` steps, ns, of the rank on which these
 * together take longest.
 * work_ns + transfer_ns + late_ns of all ranks = step_ns. work_ns: own time of ranks by which they are not late:
 * kernels, idle time that all ranks have, and other exchanges. ranks: the latest first; one may be on the path several
 * times. gain_ns: upper limit of the gain if `deciders` were never late: the step still takes what any other rank
 * needs by itself.
 */
export interface DecidingPath {
  steps: number;
  step_ns: number;
  work_ns: number;
  transfer_ns: number;
  ranks: PathRank[];
  gain_ns: number;
}

/** Queue depth in bins of the window: the mean of each bin in thousandths, and its peak. */
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
 * The prediction for a device. If `unknown` has a reason, there is no batch, and nothing that depends on it.
 * lines          the peak at any batch is that of the highest line
 * limit_bytes    the given limit, or else the memory of the device; None if neither is known
 * largest        the largest batch within the limit; 0 if not even one sample fits
 * largest_low, largest_high   bounds of it by the margin
 * modules        the makers of the peak
 * unnamed        why no module is among them
 * settings       what would change the peak
 * unused_bytes   what the caching allocator had reserved at the recorded peak beyond what was allocated, as fragments
 * and cache; None without such an allocator
 * rates          rates of the recorded copies between the host and this device; None without any, and for the CPU
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
 * One device. tiles: figures of the window and its steps, then shares from the GPU's own counters if they were
 * sampled. split: its kernel time; the rows and the rest of each table sum to split.kernel_ns. There are tables by
 * line if call stacks were recorded, and of modules if modules were.
 * idle, roofline: None in a summary that is older than they are. kineto_zero_fraction: share of kernel time for which
 * Kineto wrote an impossible occupancy of 0.
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
 * What grew on a device between two snapshots.
 * more_bytes, more_reserved_bytes   increase of the memory in use and reserved at the end
 * lines                             lines whose memory differs, the largest changes first
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
 * One resolution, with one entry per bin from the window's start on.
 * kernel_permille         thousandths of the bin in which kernels compute
 * communication_permille  thousandths in which collectives run and no kernel computes
 * copy_permille           thousandths in which copies run and no kernel does
 * run_ahead_ns            mean over the activities that start in the bin, None if none does
 */
export interface DeviceLevel {
  bin_ns: number;
  kernel_permille: number[];
  communication_permille: number[];
  copy_permille: number[];
  run_ahead_ns: (number | null)[];
}

/**
 * A device whose memory was recorded.
 * device, type   its number, None for the CPU; torch's number of its type
 * whole          the allocated bytes include all memory of the device. Otherwise the file has no totals: bytes count
 * from the first event, and categories and the largest allocations are not known
 * step_peaks     the peak of each step
 * categories     of the allocations that are alive at the peak; they sum to it; None with why_unknown
 * largest        the largest of these allocations, the largest first
 * by_op          over the whole recording
 * fit            the peak at other batches, and the largest batch that fits into total_bytes
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
 * One device. Bytes in use are requested sizes; reserved bytes are those of segments.
 * entries, first_us, last_us   number and times of the entries that the snapshot contains, in us since 1970; None
 * where times are not recorded
 * releasable_bytes   bytes of segments without a block in use
 * kept_bytes         other free memory, in kept_pieces parts
 * rounding_bytes     how much larger blocks in use are than their requested sizes
 * peak_by_category   sums to the peak in use
 * In use, releasable, kept and rounding sum to reserved.
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
 * unless `unclassified` says that too much kernel time is of unknown kernels for the range to mean anything.
 * profiler_tab_share is what the PyTorch Profiler tab counts, profiler_tab_why why it differs (None: it does not).
 * Rows are the kernels with most time, `more` folds the rest. ops and phases split the same kernels, to the same
 * total. Opportunities are what makes up matmul_like_ns, most gain first; opportunities_more folds the rest, and
 * obstacles sums all of them by why they are none yet. Gains are over the span, at most. waste is per step. rates: how
 * fast products run on tensor cores; None in summaries of before it was measured.
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
 * Attention that is computed by separate ops; means per step.
 * site          where the softmax with the most time comes from; its shapes are those of the attention weights
 * calls         number of softmaxes, forward and backward
 * softmax_ns    time of their kernels
 * other_ns      time of scale, mask, dropout, conversions and copies of the weights between the products
 * written_out   share of the forward pass' softmaxes that torch's own attention op computes in this way, because no
 * fused kernel supports the inputs
 */
export interface EagerAttention {
  site: KernelSite;
  calls: number;
  softmax_ns: number;
  other_ns: number;
  written_out: number;
}

/**
 * The starts of epochs of all loaders in the span's steps.
 * batches       number of first batches of an epoch, or of another pass such as an evaluation
 * wait_ns       mean wait for one of them
 * exposed_ns    exposed wait in the mean step, including the marks that end an epoch
 * setup_ns      time of the mean step in which new iterators are set up, which is no wait
 * respawned     whether worker processes start again for each epoch; None without a recorder
 * produced_ns   mean production time of these batches; None without a recorder
 * steps         names of the steps that wait for these batches
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
 * One event.
 * name           the name in the trace
 * short_name     the name on the event's box
 * kind           "GPU kernel" and the like
 * on             name of the track
 * gap_start_ns   begin of the idle time of the device before the event
 * why_gap        why the device was idle then; None for host events, without idle time, and for an unknown reason
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

/**
 * A property of an event. copied: the text that a press copies, such as the whole path of a file; None for
 * nothing.
 */
export interface EventFact {
  label: string;
  value: Quantity;
  copied: string | null;
}

/**
 * An event that is related to another one: its launch call, the work that it launched, the op around it. row: -1
 * for a folded Python frame.
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

/** The excess of one op, call, range or kernel. name: None for Python code between ops. */
export interface ExcessName {
  name: string | null;
  ns: number;
}

/**
 * By how much each kind of excess makes a step longer, ns. The kinds are disjoint. The steady step and all kinds
 * except unknown sum to the step, because unknown excess counts as a part of the steady step.
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
 * The excess of one kind over the steps.
 * total_ns   by how much it makes the steps longer
 * count      number of calls with such excess
 * step, start_ns, end_ns   where the longest excess is
 * names      events with the most of it, most first
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
 * Collectives that exchange the same.
 * group          place in Exchanges.groups
 * bytes, dtype   None if not recorded
 * site           id of the place in the step that launches them ("backward.hooks"); "unknown" without a launch
 * wrapper        "fsdp" if a range of FSDP launches them, otherwise ""
 * peer           the other rank of a send or receive; None if not recorded
 * sends          whether it is a send
 * batched        whether it is several messages in one kernel; peer is None if these are for several ranks
 * rows_sent, rows_received, width   rows of an all-to-all and elements of each row; all None if not recorded
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
 * A process group.
 * size          number of ranks; None if not recorded
 * description   the name that the group's creator gave it; "" if there is none
 * ranks         empty if the file does not list them
 */
export interface ExchangeGroup {
  name: string;
  size: number | null;
  description: string;
  ranks: number[];
}

/**
 * Time of the matched collectives per step, ns, as a mean over ranks and matched steps. exposed_transfer_ns,
 * exposed_wait_ns: transfers, and waits for the last rank, that no computation hides. exposed_stall_ns: the part of
 * exposed_transfer_ns by which calls are longer than usual for no recorded reason. free_compute_ns: computing time of
 * the median rank beside which no exchange runs; it could hide more. free_backward_ns, before_gradients_ns: as in
 * `Communication`, of the first rank; the latter of compiled code.
 */
export interface ExchangeTime {
  exposed_transfer_ns: number;
  exposed_stall_ns: number;
  exposed_wait_ns: number;
  free_compute_ns: number;
  free_backward_ns: number | null;
  before_gradients_ns: number;
}

/**
 * The collectives that the steps launched, ordered by step and start. Each column has one entry per collective.
 * of         place in classes
 * step       place among the steps of the span
 * start      us, relative to the span's origin
 * length     ns
 * exposed    ns of the judged time in which no computation runs beside it; -1 if that is the whole length
 * sequence   number of earlier collectives of its group, -1 if not recorded; the column is empty if no number is
 * left_out   number of collectives of later steps, which are not kept
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
 * Rows by expert, as a mean over `loops` loops over the experts of a layer. Layers have different experts, so the
 * experts of each loop are ordered by their rows.
 * rows      rows of each expert, most first
 * busiest   rows of the expert with most rows / mean rows of all experts
 * chosen    number of experts that each token chooses; tokens x chosen is the sum of rows
 * share     part of the steps that the host spends in these loops, 0 to 1, without their backward pass
 */
export interface ExpertRows {
  rows: number[];
  busiest: number;
  chosen: number;
  loops: number;
  share: number;
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
 * in the timeline, the longest range first; affects: see `Finding`.
 */
export interface FindingText {
  id: string;
  label: string;
  cause: Phrase;
  effect: Phrase;
  evidence: Evidence[];
  affects: ("gpu_time" | "host_time" | "launches" | "memory" | "recurrence" | "steps")[];
}

/**
 * A setting at the recorded batch.
 * label          its name
 * code           how to set it; None for the recorded one
 * peak_bytes, low_bytes, high_bytes   estimated, except for the recorded setting; where they are None, `unknown` says
 * why
 * again_ns       time per step for computing again, including a checkpoint's own Python on a CPU
 * step_ns        the steady step with these times; where it is None, `no_time` says why
 * largest        the largest batch within the limit; None without a limit
 * best           whether no other setting with a known time needs less memory without more time, or less time without
 * more memory
 * copied_bytes   bytes copied between GPU and host per step, in both directions
 * copy_ns        their time at the recorded rates; None if no rate is known or nothing is copied
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

/**
 * The chains of a device. kinds: most gain first. compiled: whether the device runs kernels that a compiler
 * generated.
 */
export interface FusibleChains {
  kinds: ChainsOfKind[];
  compiled: boolean;
}

/**
 * The gain of one change per step, ns.
 * gain_ns        length of the replayed step minus that of the changed step; None where too much is unexplained
 * low_ns, high_ns  its range with and without each inferred kind of edge, and what observes the ops. It is widened by
 * the relative difference of the replayed and the recorded step, and by the unexplained share if that
 * is more than 5 %
 * gain_after_ns  its gain after the changes that are listed before it
 * rests_on       inferred kinds of edges, and the observer of the ops, without which the gain differs by more than 5 %
 * of the step
 */
export interface Gain {
  id: string;
  gain_ns: number | null;
  low_ns: number | null;
  high_ns: number | null;
  gain_after_ns: number | null;
  rests_on: string[];
}

/** The result of the GPU view. start_ns, end_ns: the window of all figures; unknown: why there is no device. */
export interface GpuResult {
  unknown: Reason | null;
  start_ns: number;
  end_ns: number;
  steps: TimelineStep[];
  devices: DeviceGpu[];
}

/**
 * A process group.
 * ranks      its members among the job's ranks, ascending
 * size       the recorded number of members; None if not recorded
 * role       the purpose of the group
 * shown_by   the reason why this purpose is assumed
 */
export interface GroupRow {
  name: string;
  size: number | null;
  ranks: number[];
  role: "buffers" | "checks" | "ddp" | "expert_parallel" | "fsdp" | "pipeline" | "tensor_parallel" | "unknown";
  shown_by: Reason;
}

/**
 * A backward pass that grows from step to step.
 * first, last             number of its nodes in the first and the last step
 * first_step, last_step   names of these steps
 * more                    number of nodes that each step adds
 * excess_ns               length of the mean step minus that of the first
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
 * A slow step, and what is longer in it than in the median of the others, with the largest difference first.
 * `excess_ns` is the step time above that median.
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
 * How much more memory is allocated at the end of each step.
 * bytes_per_step   mean difference from the first of at_step_ends to the last; where it is None, `reason` says why
 * every_step       whether each step ends with more than the one before
 * at_step_ends     bytes allocated when the host ends each step
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
 * Another thread that runs Python while the training thread runs no op.
 * thread   its number in the operating system
 * name     the innermost function of the user in which it spends most of that time
 * ns       the time in which it runs Python and the training thread runs no op, mean over the steps
 * share    this time / all time in which the training thread runs no op
 */
export interface HeldInterpreter {
  thread: string;
  name: string;
  ns: number;
  share: number;
}

/**
 * Events as columns of equal length, in time order and then by track. start_ns: relative to the span's origin. row:
 * -1 for a folded Python frame.
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
 * The result of the host view. device: the busiest one, whose figures represent the span; None with `unknown` if
 * nothing ran on a GPU. Then only steps, phases and ranges of the host are measured.
 * segments: sum to mean_step_ns. queue: time bins over [start_ns, end_ns), coarse to fine; device_levels: activity of
 * the device in the same bins. figures: by metric id, figures that show whether the CPU limits the step. blocking: the
 * largest bubble first; more_blocking: number of rows beyond BLOCKING_ROWS. copies: the most time first.
 * full_queue_ns: time per step in which launch calls wait for room in the full queue. bucket_copies: copies per step
 * of gradients out of the buckets of DistributedDataParallel; bucket_late_ns: idle time per step until these are
 * launched. before_graphs_ns: idle time per step, not in long gaps, until work of graphs is launched; None in
 * summaries of before it was measured. host_functions_ns: idle time per step before work that is launched after a
 * function of the CPU in its stream, or waits within a graph in each launch of it. long_gaps: by place, gaps before
 * which the host does one thing for a long time. with_stack: whether call stacks are recorded. cpu_unrecorded: whether
 * the recording has nothing of the CPU but launch calls.
 * judged: None where no step is left out, and without a device; judged_host: the same without a device.
 * Measured if nothing ran on a GPU: cpu: what ops compute; between_ops_ns: time of the mean step in a named range
 * outside any op; python_function: the function that takes the time outside ops; python_work: functions that compute
 * without ops; outside_range: the named range with most of the time outside ops; held_interpreter: another thread that
 * runs Python meanwhile.
 * None if there is no such thing: recaptures: graphs that are captured repeatedly; recurring: steps at equal distances
 * that do more; growing: a backward pass that grows from step to step; unused_graph: nodes that no backward pass runs;
 * recomputed: what checkpoints compute again; without_cache: generation that computes all earlier tokens again;
 * anomaly: the cost of autograd's anomaly detection; whatif: the replay of a steady step, as recorded and after
 * changes.
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
  before_graphs_ns: number | null;
  host_functions_ns: number;
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
  judged: JudgedRows | null;
  judged_host: JudgedHost | null;
}

/**
 * A step. idle_ns: idle time of the main device by reason, which sums to the step minus its busy time.
 * launches: number of kernels, copies and memsets that start in it. left_out_ns: the part that verdicts and cards
 * leave out. phase_spans: when the host is in which phase, in time order.
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
 * Idle time by reason, ns. The sum is the whole idle time. The order is that of every picture: first the reasons
 * before the launch call began, by what the launching thread did then, then those after it began, then those left out
 * of judgement (`excluded_time`). `IDLE_MEANINGS` says what each one is.
 * launch_latency     the call returned at most 50 us ago; after that the work waits (`dependency`, `collective_wait`)
 * queued             the work was launched before the gap began, and the gap is at most 10 us
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
 * Idle time of a device.
 * share    idle time / window
 * reason   the reason of most of it, as in IdleNs, but with one id ("host_late") for all reasons for which the host is
 * late; None if the device is busy
 * range    if the device waits for data, the named range with most of its other idle time; None if no range has much
 * of it
 */
export interface IdleTime {
  share: number;
  reason: string | null;
  range: string | null;
}

/**
 * Successive collectives of a row with hardly any computation between them, which could be merged; means per step.
 * count, exposed_ns   number of them, and the time of theirs that no computation hides
 * bytes, bytes_p50    bytes of all of them, and of the median one; None if not recorded
 * ns_p50              length of the median one
 */
export interface InARow {
  count: number;
  exposed_ns: number;
  bytes: number | null;
  bytes_p50: number | null;
  ns_p50: number;
}

/**
 * place: keys and values of the address at which the report opens; none: at its first view. pages: by span id, then
 * view id. chain: of the runs in chain_runs, which are the newest where there are many. jobs, waits: of each job, with
 * the ids of its spans. keeps_paths: whether a summary was written with whole paths.
 */
export interface IncludedAnswers {
  written_ms: number;
  place: Record<string, string>;
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
 * steps: their names; none: the whole recording, which has no steps. [start_ns, end_ns): what is included,
 * from the span's origin. joined: events that have no box of their own.
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
  of_all: Record<string, TrendsTexts>;
  of_one: Record<string, TrendsTexts>;
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
 * step, whether the step waits for them or not. asks_ranks: what to do depends on what other ranks did, so that a page
 * that compares the ranks has the answer.
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
  asks_ranks: boolean;
}

/**
 * Rare long waits without a period. typical_ns: the median wait. long_ns: the mean of the long ones. exposed_ns:
 * their exposed time beyond the typical wait, per step. steps: names of the steps with long waits.
 */
export interface Jitter {
  typical_ns: number;
  long_ns: number;
  long_count: number;
  exposed_ns: number;
  steps: string[];
}

/**
 * A change of the job.
 * ranks            the ranks that change, for late_ranks; otherwise empty
 * step_ns          estimated length of the job's step after the change
 * gain_ns          how much shorter that is
 * usual_gain_ns    the gain in the median step, if it is smaller
 */
export interface JobChange {
  id: "even_ranks" | "hidden_exchanges" | "instant_exchanges" | "instant_host" | "late_ranks" | "no_interruptions" | "no_loader_waits";
  ranks: number[];
  step_ns: number;
  gain_ns: number;
  usual_gain_ns: number;
}

/**
 * Matched collectives of one kind, size and type in one group; sums over matched_steps and over the group's ranks.
 * members           the group's ranks, ascending
 * bytes             bytes of one collective: the larger of the amounts that one rank sends and receives; None if not
 * recorded, and then there are no bandwidths
 * count             number of these collectives in matched_steps
 * transfer_ns, wait_ns, off_ns, running_ns, exposed_ns, hidden_ns
 * transfer + wait + off = running = exposed + hidden; off: their kernels were off their devices
 * (`MatchedGroup.off_ns`)
 * transfer_p50_ns   median length on the rank that arrives last
 * algorithm_rate, bus_rate   bytes per second of the median, as nccl-tests define them: bytes / transfer, and that
 * times the share that each link carries, 2 (n-1)/n for an all-reduce
 * of_peak           bus_rate / peak of the link; None if the user does not state the peak
 * prefetched        for all-gathers of FSDP the share that computation hides; otherwise None
 * stalled           number of collectives that take far longer than the others on all ranks
 * stalled_ns, stalled_exposed_ns   their time beyond the median, as parts of transfer_ns and of exposed_ns; the latter
 * also has off_ns
 * phases            phases of the step that launch them, ids of `PHASES`
 * larger, larger_ns   number of the last all-gathers of the steps that gather more than the others, and their part of
 * transfer_ns
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
  off_ns: number;
  larger: number;
  larger_ns: number;
  phases: string[];
}

/**
 * Events that indicate the kind of job. count: number of such events. name: that of the first one, "" if names are
 * irrelevant.
 */
export interface JobEvidence {
  code: string;
  count: number;
  name: string;
}

/**
 * What a recording shows about its job. A field that it does not show is "unknown" or None.
 * purpose         "training" if there are gradients or an optimizer; "inference" if there are many layers and neither
 * execution       how the job's work is launched; "mixed" if no single way launches four fifths of it
 * compiled_share, graph_share   shares of the kernel time without collectives, or of the time in ops for jobs on a
 * CPU, that run in compiled code and in graphs; the rest is eager
 * device, vendor  the device on which the job computes, and the maker of its GPU; "gpu" also if the work there is not
 * recorded
 * accelerator     PyTorch's name for the devices: GPU, XPU, MTIA, HPU
 * ranks           whether one process or many work together
 * rank, world_size   the number of this process and the number of all processes, as the file states them
 * optimizer       class of the optimizer with the most recorded steps, such as "AdamW"
 * server          the server that runs an inference; None for a script
 * schedules_ahead  whether frames show that the server schedules the next batch while the device works
 * compiles        whether torch.compile can generate code for the GPUs; True if these are not known
 * double_backward   whether autograd also differentiates gradients, which torch.compile does not support
 * transforms      whether transforms of torch.func compute gradients
 * no_grad         what a training runs without gradients
 * sequence_layer   the layer of torch.nn that computes in one call what a loop over its cell does; None without a loop
 * left_as_is      the kind of code that torch.compile does not compile: most of the forward pass, or FSDP's hooks
 * idle_gpu        name of a GPU that the file lists although all allocations are on the CPU
 * evidence        events that show the values above, a few for each
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
  schedules_ahead: boolean;
  idle_gpu: string | null;
  compiles: boolean;
  double_backward: boolean;
  transforms: boolean;
  no_grad: NoGrad;
  sequence_layer: string | null;
  left_as_is: "exported" | "onnxruntime" | "recurrent" | "scripted" | "sharded" | "tensorrt" | null;
}

/**
 * A job over the ranks that were recorded at the same time.
 * ranks: ascending. missing: ranks below world_size without a recording. world_size: None where no file states it.
 * steps: those that any rank recorded, in order. metrics: ids of the catalogue that some rank measured; each has a
 * matrix (`spans.matrix_values`), that of step_time, in ns, is here.
 * matched_steps: number of steps whose collectives are matched over ranks; with three steps or more the first one is
 * left out, in which ranks wait for each other's profiler to start. unmatched: why nothing is matched, else None.
 * balance, exchange: None where unmatched. late: at most five ranks for which others wait, the latest first; a
 * straggler is the first. late_group: with balance "late_ranks" the ranks that are late together, else None.
 * imbalance_gain_ns: at most, per step, if all arrived with the median rank; 0 without an imbalance. imbalance_causes:
 * what takes the late rank of each step longer than the median of the others in it, the largest first.
 * tokens: for each group of ranks that share experts; tokens_reason: why ranks with all-to-alls have none, else None.
 * experts_reason: why the rows of experts are not known where a rank computes them in a loop, else None.
 * path: None where unmatched, and where ranks send to each other, because no collective shows those waits.
 * pipeline: if the ranks are its stages, else None. what_if: the length of a step after changes, else None with
 * what_if_reason.
 * notes: what is missing, recorded twice, cut off or not matched, with counts. on_device: whether kernels ran on any
 * rank. infers: whether it is known to be inference.
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
  experts_reason: Reason | null;
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
  infers: boolean;
}

/**
 * The joint replay of `steps` steps, those whose collectives and messages are matched, on `rank_count` ranks;
 * means, ns.
 * recorded_step_ns: from the end of a step to the end of the next one, including all work that they launch, on the
 * rank on which that takes longest; a first step counts from its begin. With stages that send to each other, a step
 * ends with the last of them. replayed_step_ns: the same in the replay.
 * later_step_ns: replayed without one-time work and the profiler's own, as changes are.
 * unexplained: unexplained share of the recording, on the rank where it is largest. trusted: whether the first two
 * lengths hardly differ, most of them comes again, and little is unexplained. by_device: whether it is made of graphs
 * of hosts and devices, or of each rank's own time between its waits.
 * changes: those that shorten that later step, the largest gain first; none if the replay is not trusted.
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
  later_step_ns: number;
  changes: JobChange[];
  larger: LargerJob[];
  larger_reason: Reason | null;
}

/**
 * A step over the ranks that recorded it. ranks: their number; slowest, fastest: ranks; late: the rank for which
 * the others wait longest, None where nothing is matched; late_ns: these waits, summed over the other ranks and over
 * collectives, which may run at the same time.
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

/**
 * What verdict and cards rest on without a device, as means over the steps that they average over, where these are
 * not all. steps: their places. parts_ns and communication are as in OverviewResult, waits as in DataLoadingResult,
 * and the other fields as in HostResult.
 */
export interface JudgedHost {
  steps: number[];
  parts_ns: Parts;
  communication: Communication | null;
  waits: StepWaits | null;
  cpu: CpuWork;
  python_function: PythonFunction | null;
  python_work: PythonWork[];
  outside_range: OutsideRange | null;
  held_interpreter: HeldInterpreter | null;
  recomputed: Recomputed | null;
  anomaly: AnomalyChecks | null;
  between_ops_ns: number;
}

/**
 * What cards rest on, as means over the steps that verdicts and cards average over, where these are not all.
 * steps: their places. exchange_ns: time a step in which the main device only communicates. observed_ns: what a step
 * takes at least because something besides the profiler observes its ops, 0 where that is not found. The other fields
 * are as in HostResult, communication as in OverviewResult, waits as in DataLoadingResult, and waste, obstacles and
 * rates as in DeviceSplit, the rates of slow products alone.
 */
export interface JudgedRows {
  steps: number[];
  sites: SiteRow[];
  blocking: BlockingRow[];
  blocking_bubble_ns: number;
  copies: CopyRow[];
  pauses: Pause[];
  exchange_ns: number;
  communication: Communication | null;
  waste: LaunchWaste;
  obstacles: Obstacle[];
  rates: ProductRates | null;
  waits: StepWaits | null;
  long_gaps: LongGaps[];
  full_queue_ns: number;
  bucket_copies: number;
  bucket_late_ns: number;
  before_graphs_ns: number;
  host_functions_ns: number;
  several_devices: SeveralDevices | null;
  anomaly: AnomalyChecks | null;
  observed_ns: number;
}

/**
 * A kernel's launches in detail. shape: None if the trace does not contain the kernel's grids. sites: those with
 * the most time.
 */
export interface KernelDetail {
  name: string;
  lengths: LaunchLengths;
  calls: LaunchTimes;
  shape: LaunchShape | null;
  short: string;
  sites: LaunchSite[];
}

/**
 * The launches of one group on one device. Times are ns, shares and occupancies fractions.
 * If the launches of a row differ in a text, the row has the text with the most time.
 * name                the kernel, op, module or line of the row; if there is none, the reason
 * total_ns            = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns
 * share               share of the device's kernel time
 * tensor_core, tensor_core_reason   whether the kernels run on tensor cores, and the reason that the rule gives
 * eligible            whether a kernel of the row runs on tensor cores or could; None if its name does not show that
 * why_not, gain_ns    id of the reason why it does not, and what that costs over the span at most; None if nothing of
 * the row could move there
 * op                  the innermost op around the launches, one of op_count; None if most time has no op, for the
 * reason no_op
 * module, source      the user's module and line around the launches, for backward kernels around their forward op;
 * one of source_count lines; None if most time has none, or none is recorded
 * blocks_per_sm ...   means over the launches, weighted by their lengths; None if not measurable on this GPU or for
 * these kernels
 * persistent          whether the name shows that the blocks loop over tiles until all is done, so that the grid shows
 * no tail
 * short               a kernel's short name, which no other kernel of the recording has; for other rows the name;
 * empty in summaries of older releases, as in all rows of kernels
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

/** The groups with the most time. more_rows, more_count, more_ns: number, launches and time of the other groups. */
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
 * kernel           short name of the kernel
 * op               the innermost op that launched it; None if none is recorded
 * shapes, dtypes   shapes and types of the op's inputs as compact JSON; None if they are not recorded or not kept
 * module, source   class of the innermost nn.Module around the op, and the innermost source line outside torch; for a
 * backward kernel those around its forward op; None in traces without call stacks
 * backward         whether nodes of the backward pass launched the kernels with most of the time
 * longest          the longest of the kernels, to show in the timeline
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

/** Kernels of one name that begin in a window. name: as on the boxes; their time is that of their whole length. */
export interface KernelsNamed {
  name: string;
  count: number;
  total_ns: number;
}

/**
 * One lane of the picture of two steps. id: loader, cpu or gpu. start_ns, end_ns: disjoint intervals. hatched: for
 * each of them, whether it is a hidden wait.
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

/** A range of the span in which the pattern of the steps shows. Times are relative to the span's origin. */
export interface LaneWindow {
  start_ns: number;
  end_ns: number;
  steps: string[];
  marks_ns: number[];
  lanes: Lane[];
}

/**
 * The same job on more ranks, each of which does as much as now. ranks: their number; step_ns: estimated;
 * efficiency: the present step / this one.
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
 * The collectives of a row that are the last of their step.
 * ns             mean length of these collectives
 * others_ns      mean length of the row's others
 * behind_times   how many times as long the kernel behind them takes, which reads their result, as that behind the
 * others, by medians; None if no kernel is behind some of them
 */
export interface LastCall {
  ns: number;
  others_ns: number;
  behind_times: number | null;
}

/**
 * Ranks that are late together, ascending: each other rank waits for one of them. host: their common host, if they
 * are all of its recorded ranks; else None. late_steps: number of the `steps` steps in which most of the others' waits
 * end when one of them arrives; caused_share: share of all others' waits that do. wait_ns, gain_ns: as in `LateRank`.
 * first: the one of them for which the others wait longest; causes: why it is late, compared with the ranks outside
 * the group.
 */
export interface LateGroup {
  ranks: number[];
  first: number;
  host: string | null;
  late_steps: number;
  steps: number;
  caused_share: number;
  wait_ns: number;
  gain_ns: number;
  causes: Cause[];
}

/**
 * A rank for which others wait. last_share: share of its matched collectives at which it arrived last.
 * late_steps: number of the `steps` steps in which the others wait longest for it. caused_share: share of all ranks'
 * waits that end with its arrival. wait_ns: exposed wait of each other rank for it, as a mean over ranks and steps;
 * own_wait_ns: its own exposed wait per step. gain_ns: at most, in the median step, if it arrived together with the
 * next to last rank: the shortest of the others' exposed waits. causes: the largest first; empty where its own figures
 * are like those of the others.
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
 * Figures of the launches in the whole span. A launch is a call that launched anything. With CUDA graphs one launch
 * starts many activities.
 * calls, activities   launches and device activities per step
 * run_ahead_p50_ns    median run-ahead of the activities
 * starved_share       share of the activities whose run-ahead is 15 us or less
 * unlinked            number of activities in the steps whose launch is not recorded
 * queue_mean, queue_max   mean and greatest number of queued activities of all streams, over the window
 * empty_share         share of the window in which nothing is queued
 * These three are None if no activity in the steps has a recorded launch.
 * graphs              number of launches of captured graphs per step
 */
export interface LaunchFigures {
  calls: number;
  activities: number;
  run_ahead_p50_ns: number | null;
  starved_share: number | null;
  unlinked: number;
  queue_mean: number | null;
  queue_max: number | null;
  empty_share: number | null;
  graphs: number;
}

/**
 * A distribution. count[i] launches last at least edges_ns[i] and less than edges_ns[i + 1]; the last edge is
 * included.
 * Edges grow by one factor, as far as whole ns allow. There is one bin if all launches last equally long.
 */
export interface LaunchLengths {
  edges_ns: number[];
  count: number[];
}

/**
 * The launches of one kernel from one place; sums over the compared steps.
 * short          short name of the kernel
 * op             the innermost op; None if there is none
 * shapes         shapes of the op's inputs, as in the trace; "" if not recorded
 * module         the innermost module; None if none is recorded
 * order          rank of the place by its first launch
 * deviation_ns   standard deviation of the time per step; None if there is one step
 * blocks         mean number of blocks of a launch; None if `shapes` is known, or a grid is not recorded
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
  blocks: number | null;
}

/**
 * The most frequent launch shape of a kernel, and how it fills the GPU. The blocks run in waves of at most sm_count
 * x resident.
 * grid            as recorded; some calls of ROCm count work-items
 * registers       number of registers per thread
 * shared_memory   bytes per block
 * launches        number of launches with this shape
 * shape_count     number of different shapes of the kernel
 * persistent      whether the name shows that the blocks loop over tiles
 * Values are None if the trace or the limits of the GPU do not show them.
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
 * Where some launches come from: the innermost op and module around them, and the user's line. For a backward
 * kernel, module and line are those of its forward op. A field is None if there is none, or it is not recorded.
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
 * count: number of launches that start in the bin. busy_ns: their time within the bin, by exact overlap. What lasts
 * beyond the span's window is in no bin.
 */
export interface LaunchTimes {
  start_ns: number;
  bin_ns: number;
  count: number[];
  busy_ns: number[];
}

/**
 * Kernel time that is wasted by the shape or the number of launches; means per step.
 * small_grids, small_tails   None if the trace does not contain the shapes of launches
 * optimizer       short kernels of optimizers that each process the elements of one tensor; the gain is the time in
 * which the GPU is idle while an optimizer runs
 * attention       attention that is computed by separate ops; None if there is none
 * chains          chains of kernels that a compiler would fuse
 * copies          copies within the GPU
 * fused           whether the optimizer has kernels that make a whole update of many tensors
 * update          kernels of optimizers that make a part of an update and are not generated by a compiler; the gain is
 * all of their time
 * indexing        kernels of ops that add up the gradient of an indexed tensor; the gain is all of their time; None if
 * there are none
 * double          products with FP64 inputs, None if there are none; the gain is the time that FP32 would save
 * vectors         products of a matrix and a vector; None if there are none
 * double_others   other kernels of ops whose recorded tensors are FP64; the gain is half of their time, since FP32
 * moves half of the bytes
 * compared        kernels that convolutions launch only to compare algorithms, which nothing else here counts; the
 * gain is all of their time; None if there are none
 * naive           convolutions by MIOpen's kernels of last resort; the gain is all of their time; None
 * if there are none
 * loss            passes over the logits of a loss with many classes; None if there is none
 * tables          dense gradients of embeddings that could be sparse; None if there are none
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
  vectors: VectorProducts | null;
  compared: Waste | null;
  naive: Waste | null;
  loss: LogitsLoss | null;
  tables: TableGradients | null;
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
 * Allocations of one line of code.
 * line                     "train.py:23"; None where the place of allocation is not recorded
 * bytes, count             in use at the peak
 * end_bytes                in use at the end
 * made_bytes, made_count   allocated since the oldest entry
 * lifetime_us              the mean of those that were also freed since then; None where there are none, or no times
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
 * The cost of each line of the user's code by itself. rows, rest and elsewhere sum to the whole.
 * line_of     whether a line is the one on which a function begins, or one that was executed
 * where       for which line work of the backward pass counts
 * host_ns     length of the steps on the training thread
 * more        number of lines in `rest`
 * elsewhere   cost outside any line
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
 * The longest activities of a loader in the main process. more, more_ns: number and time of the others. slow_lines:
 * lines of the dataset, if call stacks are recorded.
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
 * One loader of the span; times are means per batch in ns, and wait_ns = exposed_ns + hidden_ns.
 * label            "Training loader 2"
 * batches          number of batches without the first ones of epochs
 * first_batches, first_batch_ns   number of these first ones, and the mean wait for one; None if there are none
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

/**
 * One step: wait_ns = exposed_ns + hidden_ns are the loader's intervals within it, without and with device work
 * beside them.
 */
export interface LoaderStep {
  name: string;
  duration_ns: number;
  wait_ns: number;
  exposed_ns: number;
  hidden_ns: number;
}

/**
 * The largest logits of a loss whose targets are class numbers, made by a product with no more features than rows.
 * total_ns   time of the kernels, except products, of ops on tensors of that size; mean per step
 * bytes      bytes of such a tensor in FP32
 * site       where the kernels with the most time come from
 */
export interface LogitsLoss {
  rows: number;
  classes: number;
  total_ns: number;
  bytes: number;
  site: KernelSite;
}

/**
 * A gap that is long because the host launches late.
 * step                the step that contains the middle of the gap; the step before may end when the gap begins
 * late_ns             the part of the gap in which the launch is late
 * doing, name, inside   what the host does for most of that time, as in `HostActivity`
 * compiles            whether torch.compile works in it
 * compiled            whether torch.compile works in it, or the launch that ends it belongs to compiled code
 * unusual             whether the host usually does this in far less time, gaps of this place are usually far shorter,
 * or the launch call had returned before most of it
 * busiest, busiest_ns   the calls that take most of the time of a frame, as in `HostActivity`
 * on_cpu              whether ops compute on the CPU and do not call the device's runtime
 */
export interface LongGap {
  step: string;
  start_ns: number;
  end_ns: number;
  late_ns: number;
  doing: "call" | "frame" | "nothing" | "op" | "range" | "update";
  name: string | null;
  inside: string | null;
  compiles: boolean;
  compiled: boolean;
  unusual: boolean;
  busiest: string | null;
  busiest_ns: number;
  on_cpu: boolean;
}

/**
 * The long gaps before launches of one place.
 * count, steps   number of these gaps in the span, and of the steps that contain any
 * late_ns, compiled_ns, unusual_ns   late time, mean per step; the latter two are disjoint parts of it
 * longest        the longest gaps, at most KEPT
 * names          all of the gaps by what the host does in them, most late time first; the names beyond NAMES are
 * merged into entries without a name
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
 * Code that allocates memory which is never freed, in each of `steps` steps from the step `since` on.
 * bytes_per_step: mean over these steps. example: one of the allocations.
 */
export interface Maker {
  bytes_per_step: number;
  since: string;
  steps: number;
  example: AllocationRow;
}

/**
 * [start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins. least, most: minimum and
 * maximum allocated bytes. reserved_most: maximum reserved bytes; empty without a caching allocator.
 */
export interface MemoryBins {
  start_ns: number;
  end_ns: number;
  least: number[];
  most: number[];
  reserved_most: number[];
}

/** The memory of a device in a window. alive: the allocations at the requested instant. */
export interface MemoryPage {
  device: number;
  curve: MemoryBins;
  alive: AliveAt | null;
}

/**
 * The first instant at which most memory is allocated, or reserved.
 * row              row of the memory table
 * step             None outside of all steps
 * reserved_bytes   bytes that are reserved at that instant; None without a caching allocator
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
 * The result of the memory view.
 * devices              GPUs first; empty with `unknown` if memory was not recorded
 * calls, more_calls    the first calls of the allocator to the driver, and the number of the others
 * start_ns, end_ns     the range of the curves
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

/** A step by the host's marks, because memory is allocated when the host requests it. */
export interface MemoryStep {
  name: string;
  start_ns: number;
  end_ns: number;
  phase_spans: PhaseSpan[];
}

/**
 * Sends of one size from a rank to another, each with its receive. Messages that one kernel exchanges in both
 * directions count as one message with all their bytes, sent by the rank with the lower number. Sums over the `steps`
 * steps in which messages of the two ranks are matched. transfer_ns: the shorter of both sides; sender_wait_ns,
 * receiver_wait_ns: the additional time on that side. exposed_ns: the part of both sides that no computation hides, at
 * most 2 x transfer_ns and the waits.
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
 * Sends and receives of one size on all ranks, whether or not the other side is known (`MessagePair`). Their time
 * includes the wait for the other side. Sums over the `ranks` ranks that have any of this size, and over the `steps`
 * steps in which any rank sends or receives anything.
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
 * The meaning of one figure. `id` is stable and public. `meaning` is one or two sentences for a person who has
 * never seen the figure.
 * `short` is the label where room is scarce, as in table heads; where it is empty, the label itself is used. `colour`
 * names the meaning's colour token, whose style only the front end knows: kernel, tensor, copy, comm, data, cpu,
 * runtime, blocking, other, ink.
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
 * The part of the peak that was made in modules of one path of classes: constant + batch x per_sample, bytes.
 * bytes: the part at the recorded batch. path: None if nothing names the maker, as `kind` says.
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
 * name                       name of the module, or of its class if layers are folded
 * parent                     row of the module around it, which comes before; -1 for none
 * instances                  number of modules of this class here if layers are folded; otherwise 1
 * occurrences                number of calls
 * host_self_ns               host time without the modules inside it
 * python_ns                  the part of host_self_ns that is in no op
 * device_*, launches         time and number of what it launches in the forward pass; None if nothing ran on a device
 * idle_ns                    how long devices had nothing to do until that began; None as for ops
 * backward_*                 costs of the nodes of the backward pass that its ops made, with the modules inside
 * kernel_ns                  the part of device_total_ns in kernels, which are on tensor cores for at least tensor_ns,
 * and for at most unknown_ns more
 * allocated_bytes            bytes of its allocations in the forward pass, freed or not; None if memory was not
 * recorded
 * allocated_self_bytes       the same, without the modules inside
 * backward_allocated_bytes   the same, in the backward pass as backward_*
 * slowest_ns                 if layers are folded, the mean of a call of the slowest instance: forward on the device,
 * or else on the host
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
 * What a training runs without gradients.
 * share   share of the layers of forward passes that run without gradients
 * passes  number of passes of these layers per step; a copy between host and device separates two passes
 */
export interface NoGrad {
  share: number;
  passes: number;
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
 * All opportunities with the same reason. The fields op, shapes, why and setting are those of the opportunity with
 * the largest gain.
 * bound_ns   the gain that the ratio of the peaks alone allows
 * gain_ns    the part of it that remains with the memory bandwidth
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
 * The one-time costs of one cause over the span, ns.
 * count       number of such costs
 * total_ns    how long they take
 * idle_ns     the part of total_ns in which the device is idle; all of it without a device
 * op          the op that contains the longest cost; None without one
 * name        name of the call or range that takes longest in it
 * worst_*     the step and the time range of the longest cost; worst_ns is the part of it that is one-time and leaves
 * the device idle, or that is one-time at all if the device is never idle
 */
export interface OneTimeCost {
  cause: "allocation" | "between_ops" | "compilation" | "first_backward" | "first_call" | "graph_capture" | "loading" | "set_up";
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

/** The recorded inputs of an op, as in the trace, such as '[[64,3,224,224],[64,3,7,7]]' and '["float","float"]'. */
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
 * The ops of one name: sums over the recording, bytes. all_increase_bytes: allocated minus freed while they ran. An
 * op inside another of its name is not a call of its own, and counts once in the `all_*` columns, which include
 * children.
 */
export interface OpMemory {
  op: string;
  calls: number;
  count: number;
  allocated_bytes: number;
  all_count: number;
  all_allocated_bytes: number;
  all_increase_bytes: number;
}

/** The split of the kernels that ops of one name launched. If there is no op, `op` is None, and `no_op` says why. */
export interface OpSplit {
  op: string | null;
  no_op: string | null;
  count: number;
  split: Split;
}

/**
 * An op; sums over the compared steps.
 * self_ns        its time without the ops inside it, summed over the threads
 * deviation_ns   standard deviation of that time per step; None if there is one step
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
 * The calls of an op that begin in the steps, including those inside other calls of it.
 * lengths        lengths of the calls on the host
 * longest        the longest call
 * kernels        its kernels with the most time
 * more_kernels   number of its other kernels
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
 * Sums over the rows that a table leaves out. device_self_ns: None where nothing ran on a device;
 * allocated_self_bytes: None where memory was not recorded.
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
 * key                  the shapes, call stack, module, line or phase by which ops are grouped; None if ops are grouped
 * by name, or if it is not recorded
 * calls                number of the ops themselves, without those of the backward pass if these are counted with the
 * ops that created it
 * host_total_ns, host_self_ns   time on the host with and without the ops inside; the latter without runtime calls
 * runtime_ns           time in runtime calls of the ops themselves
 * device_*, launches   time and number of kernels, copies and memsets; None if nothing ran on a device
 * idle_ns              how long devices had nothing to do until the work that the op, or an op inside it, launched
 * began; waits for batches are left out
 * kernel_ns            the part of device_total_ns in kernels; None if no device has tensor cores
 * tensor_ns, unknown_ns   the parts of kernel_ns that certainly and possibly run on tensor cores
 * allocated_bytes      bytes allocated while the op runs, freed or not: on the GPUs, or on the CPU if no GPU's were
 * recorded; None if none were recorded
 * allocated_self_bytes   likewise, without the ops inside it
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

/** Ops grouped by their name and another key. Own times of the rows and of the rest sum to those of all ops. */
export interface OperatorTable {
  by: "line" | "module" | "name" | "phase" | "shape" | "stack";
  where: "made" | "ran";
  rows: OperatorRow[];
  rest: OperatorRest;
}

/**
 * The result of the operators view: sums over the steps, whose total length is steps_ns. All are empty in a summary
 * of a release that did not measure ops.
 * start_ns, end_ns   range in which the host is in the steps
 * steps              the host's part of each
 * tables             one for each recorded grouping; if links to the forward pass are recorded, another one in which
 * work of the backward pass counts for the op that created it
 * details            of the ops with the most time
 * folded             modules with repeated layers as one row
 * modules            each module, without the more_modules smallest ones
 * lines              None if no line of the user's code is recorded
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
 * shapes, dtypes   shapes and types of the op's inputs as compact JSON; None if the trace does not record them
 * kernel, short    full and short name of the kernels
 * why_not, why     id and text of the reason why they do not use them
 * setting          what to type to change that; None if nothing would
 * gain_ns          the most that the span would save; `formula` explains how it is computed
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
 * What a trace records about ops.
 * ops        whether it has ops on the CPU
 * shapes     whether it has the shapes of their inputs
 * stacks     whether it has frames of the user's code
 * modules    whether it has calls of modules
 * backward   whether it shows which op of the forward pass created a node of the backward pass
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
 * free_bytes, pieces, largest_bytes   free memory within segments: its bytes, the number of its parts and the largest
 * part; None if the allocator did more afterwards, so that the snapshot does not show it
 * expandable_helps    an estimate: segments may not grow, and if they could, the pages that contain no block in use
 * would have been enough for the allocation; None if not known
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
 * What is launched and allocated outside of all modules. Together with what the modules launch and allocate,
 * forward and backward, this is the total of the steps.
 * device_ns         time on the device; None if nothing ran there
 * allocated_bytes   None if memory was not recorded
 */
export interface OutsideModules {
  device_ns: number | null;
  allocated_bytes: number | null;
}

/** Work in the steps that no recorded op launched. */
export interface OutsideOps {
  launches: number;
  device_ns: number;
}

/**
 * A range and its time, as a mean over the steps. ns: time outside of ops, calls and waits for batches while the
 * range is open on the training thread.
 */
export interface OutsideRange {
  name: string;
  ns: number;
}

/**
 * The loop's waits for batches that worker processes have already produced. In such a wait the message is sent,
 * unpickled and mapped, and the indices of a later batch are drawn.
 * ns           per batch; None if late batches hide it, and `why` says so
 * exposed_ns   all of it in the mean step, including pauses of the host
 * gain_ns      the part of it that counts up to ns for each batch, beyond `unavoidable_ns`
 * source       the recorder, "ready" (waits for prefetched batches in a burst) or "short" (the usual wait is as short
 * as for a batch that is ready)
 * sampler_ns   the part of ns in which the sampler draws indices; None if no recorder has it
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
 * The result of the overview. mean_parts_ns sums to mean_duration_ns, and works_ns (device parts) + waits_ns =
 * mean_duration_ns.
 * tiles             in the order of the page; GPU figures are those of `device`
 * absent            why a part has no length, by its id
 * job               the kind of job
 * communication     None if nothing is exchanged
 * cut_short         whether the file ends before the trace does
 * findings          faults of the recording: repaired ones first, then those that exclude something, then remarks
 * not_recorded_ns   estimated GPU time that is missing from the only step if the end of the recording is missing, and
 * otherwise 0
 * steady_step_ns    the median length of the steps without excess; None if it could not be computed
 * excess            sums over the steps by kind, the largest first
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
 * A column of whole numbers as bytes.
 * count    number of values
 * width    bytes of each value
 * planes   a zero, then the bytes of the values: first the low byte of each, then the next one, and so on. The zero
 * makes the Base64 text begin with a letter, because text that begins with a slash would be taken for a path
 * (`ingest.private_paths`)
 */
export interface PackedColumn {
  count: number;
  width: number;
  planes: string;
}

/**
 * A part of the step: its id in `Parts`, its label, its colour token and its meaning. works: the device is busy in
 * it.
 */
export interface PartMeaning {
  id: string;
  label: string;
  meaning: string;
  colour: string;
  hatched: boolean;
  works: boolean;
}

/** The ns of each part, in the order in which a stacked chart shows them. They add up to the step. */
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

/**
 * A pass of a step in the picture. row: place in `Pipeline.rows`; kind: place in PASS_KINDS; times relative to the
 * begin of the picture.
 */
export interface PassPiece {
  row: number;
  kind: number;
  stage: number;
  micro_batch: number;
  from_ns: number;
  to_ns: number;
}

/**
 * The passes, ordered by step and start; each column has one entry per pass.
 * step          place among the steps of the span
 * kind          place in PASS_KINDS
 * stage         from the label; -1 without one
 * micro_batch   from the label; -1 without one
 * start         us, relative to the span's origin
 * length        ns, from the start of the first activity to the end of the last one
 * left_out      number of passes of later steps, which are not kept
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
 * A rank on the deciding path. late_ns: time per step for which the median of the others waits for it with nothing
 * else to do. causes: as in `LateRank`; empty where late_ns is too short to determine them.
 */
export interface PathRank {
  rank: number;
  late_ns: number;
  causes: Cause[];
}

/**
 * Paths between nodes, sorted by `after`: the node `after` starts at least lag ns after the end of the node
 * `before`, or after the recording's origin if that is -1. Nodes: the begins of all steps, then the collectives in the
 * order of `Exchanges`, then the ends of all steps.
 */
export interface Paths {
  before: PackedColumn;
  after: PackedColumn;
  lag: PackedColumn;
}

/**
 * Pauses of one cause in the steps.
 * sure              whether the trace names the cause; otherwise it is inferred from the pattern
 * name              name of the longest pause in the trace; None if it has none
 * count, total_ns   number and total length over the span
 * idle_ns           idle time of the device during the pauses, mean per step
 * worst_*           the longest pause
 * native_ns         the part of total_ns in calls and ops that run no Python, and so collect no garbage
 * copied_ns         the part of total_ns in pauses that may write to a file what was copied to the host before
 * steps             number of the steps in which they begin
 */
export interface Pause {
  cause: "garbage_collection" | "interrupted" | "loader" | "unexplained";
  sure: boolean;
  name: string | null;
  count: number;
  total_ns: number;
  idle_ns: number;
  worst_step: string;
  worst_start_ns: number;
  worst_end_ns: number;
  native_ns: number;
  copied_ns: number;
  steps: number;
}

/**
 * The memory at an instant for any batch: constant + batch x per_sample, bytes. row: the instant, as a row of the
 * device's curve.
 */
export interface PeakLine {
  constant: number;
  per_sample: number;
  row: number;
}

/**
 * A phase of the step: the sum of its sites, and what the host spends in it. Values are means per step.
 * The phases' host_ns add up to the step, and their idle_ns.total to the device's idle time.
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
 * A range of a step that the host spends in one phase. Ranges that are too short to be drawn are left out.
 * start_ns, end_ns  relative to `Trace.origin_ns`
 * inner             whether this is a part of another range and has a label of its own, such as the buffer broadcast
 */
export interface PhaseSpan {
  phase: "backward" | "data_loading" | "forward" | "optimizer" | "other" | "unknown" | "zero_grad";
  label: string;
  start_ns: number;
  end_ns: number;
  inner: boolean;
}

/**
 * The split of the kernels launched in a phase, one of `phases.PHASES`. The phase is "unknown" if their launch is
 * not recorded.
 */
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
 * The slowest of the job's chains of stages. Times are means over `steps` steps in ns. window_ns = work_ns plus the
 * four causes, and step_ns = window_ns + other_ns.
 * chains          number of chains of stages in the job
 * schedule        None, with a reason, where the order of passes is not that of a known schedule
 * odd_ranks       ranks that compute in another order than the schedule
 * micro_batches   number per step
 * window_ns       from the first begin of a pass to the last end of one
 * work_ns         computing time of a stage with its own time between passes, mean over the stages
 * perfect_ns      estimated length of a step without any bubble: the work of its slowest stage, and other_ns
 * rows            in the order of stages
 * shown           the step whose window is closest to the median; None if it has too many passes for a picture
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
 * One step on the clock of the first row. shift_ns: for each row, converts times of the picture to times relative
 * to the origin of its span, by addition.
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
 * became (`of` None), or, where the candidate does several things in another way, this part of it. low, high: its
 * interval. residual: by part, what was predicted less what was measured, most first; sums to predicted_ns -
 * measured_ns. Empty where the card does not say which part becomes shorter.
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

/** An error to show to the user: the fact, the file (relative to the log directory), and what to do about it. */
export interface Problem {
  problem: string;
  file: string;
  hint: string;
}

/**
 * Calls of one op on inputs of the same shapes and types, on tensor cores.
 * total_ns             summed length of their kernels over the span
 * tflops               mean rate, if everything that a mask leaves out is counted as computed
 * causal               whether there is a causal mask; None if the trace does not show it
 * attainable_tflops    the rate that other calls of the trace, memory and the number of tiles allow, and at least
 * tflops; None if unknown, or for convolutions and attention
 * slow, why            id and text of the reason why the calls are slow; None if they are not, or nothing shows a
 * reason
 * gain_ns              the most that the span would save; 0 if the calls are not slow
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
 * Rows with the most gain first, then with the most time.
 * best_tflops  by input type, the best rate of longer calls
 * peak_tflops  by input type, the rate of the data sheet
 */
export interface ProductRates {
  rows: ProductRate[];
  best_tflops: Record<string, number>;
  peak_tflops: Record<string, number>;
}

/**
 * What a worker does over time: disjoint segments in time order, relative to the span's origin.
 * part    0 dataset, 1 collate, 2 transfer (the worker has no other batch to produce meanwhile), 3 wait for a request
 * batch   number of the segment's batch; -1 for none, and for a segment that stands for several short ones
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
 * A function in the step of median length, on the training thread.
 * start_ns, end_ns   from the start of the first call of the function to the end of the last one
 * outside_ns         time of the step in which no op, call or loader runs; most of it is in calls of the function
 * in_ns              time in calls of the function, including their ops
 * busiest, busiest_ns   the name of the calls that take more than half of the function's time, and their time; None
 * and 0 if no single name does
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
 * The calls of one function on the training thread.
 * caller             the user's function that calls it, if the function belongs to torch or another package, is built
 * in, or has no name; otherwise None
 * ns                 time outside ops, calls and waits and without interruptions, mean over the steps that are judged
 * start_ns, end_ns   the longest call
 * steps              names of the steps with a call; empty if nearly all have one
 * waits              whether the function waits for something other than a batch
 */
export interface PythonWork {
  name: string;
  caller: string | null;
  calls: number;
  ns: number;
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
 * The queue at one resolution. There is one entry per bin from the window's start on: the mean depth in
 * thousandths, and the peak.
 */
export interface QueueLevel {
  bin_ns: number;
  mean_permille: number[];
  peak: number[];
}

/**
 * A named range of the host, such as a record_function, within the ranges around it; means per step.
 * path        the names from the outermost range to this one; a path that occurs in two phases has two rows
 * host_ns     time in which the range is open, summed over the threads
 * self_ns     the part of it in which no range inside it is open
 * device_ns   time in which work that was launched inside it runs (union over streams and devices)
 * idle_ns     idle time of the devices that this work ends
 * launches    number of device activities launched inside it
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
 * such step or the metric is not measurable in it. reason: why no value is known at all, or None.
 */
export interface RankMatrix {
  metric: string;
  values: ((number | null)[])[];
  reason: Reason | null;
}

/**
 * One rank. Sums are over its matched collectives in `JobRanks.matched_steps`, 0 where nothing is matched. Over all
 * ranks, wait_ns and caused_ns have the same sum.
 * key               the caller's name for its span
 * host              None where the worker's name does not contain it
 * steps             how many of the job's steps it recorded
 * matched           number of its matched collectives
 * wait_ns           their time until the last rank has arrived
 * transfer_ns       the rest of their time on this rank
 * exposed_wait_ns   the largest possible part of wait_ns that no computation hides
 * last              number of collectives at which this rank arrived last
 * caused_ns         waits of the other ranks that end with its arrival
 * clock_offset_ns   converts times of this rank to those of the first rank, by addition; None where it is not known
 * tokens_sent, tokens_received   as in `RoutedTokens`; None where not known
 * experts           the rows of the experts that it computes in a loop; None without such a loop, and where not known
 */
export interface RankRow {
  rank: number;
  key: string;
  worker: string;
  host: string | null;
  steps: number;
  mean_step_ns: number;
  matched: number;
  transfer_ns: number;
  wait_ns: number;
  exposed_wait_ns: number;
  last: number;
  caused_ns: number;
  clock_offset_ns: number | null;
  tokens_sent: number | null;
  tokens_received: number | null;
  experts: ExpertRows | null;
}

/**
 * The ranks of the job that a span is of.
 * job: None where fewer than two ranks are read; its step_time has no values, which a RankMap has. caused_ns: of each
 * of its ranks, what each of the others waits for it and no computation hides, a step, as a mean; empty where nothing
 * is matched. spans: ids of the spans that the page is of, in the order of the ranks; read, found: how many of its
 * ranks are read, of how many. causes: why each of job.late is late, in words; turns: each of job.imbalance_causes,
 * which are of the late rank of each step. path: what the step consists of, None where that is not known; pipeline:
 * which one the ranks are, None for none. experts: why the tokens of its experts are not known, a sentence each.
 * what_if: job.what_if in words. do_first: what the first of the insights says to do and what it gains; None where no
 * gain is computed for it, as then what limits each rank says more. simulated: what a simulator says of it.
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
  experts: Phrase[];
  what_if: WhatIfTexts | null;
  notes: NoteText[];
  insights: Insight[];
  do_first: Phrase | null;
  simulated: string | null;
}

/**
 * What a recording contributes to the view of its job.
 * exchanges   the collectives of the steps, up to a maximum number; empty if there are none, and in summaries of
 * releases that did not match them
 * passes      the passes of micro-batches if this is a rank of a pipeline; else empty
 * reduced     when the recording's own work lets the collectives begin; empty without work on a device
 * experts     the rows of experts that the rank computes in a loop; None without such a loop, and with
 * experts_reason where its rows are not known
 */
export interface RanksResult {
  exchanges: Exchanges;
  passes: Passes;
  reduced: Reduced;
  experts: ExpertRows | null;
  experts_reason: Reason | null;
}

/**
 * The batches of one loader that are ready for the training loop: depth[i] of them from at_ns[i] on. late_share:
 * share of the requests whose batch was not ready; None without a request.
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
 * Captures of work that is captured more than once, and the steps that contain them.
 * steps               number of steps that contain one of them
 * step_ns, other_ns   mean length of these steps and of the others; other_ns is None if there are no others
 */
export interface Recaptures {
  steps: number;
  step_ns: number;
  other_ns: number | null;
}

/**
 * Recomputation in the mean step.
 * calls        number of checkpoints
 * ns           device time of what is computed again; without a device, the time of its ops
 * kept_bytes   memory on the main device that keeping the results instead would take at most; None if memory is not
 * recorded
 */
export interface Recomputed {
  calls: number;
  ns: number;
  kept_bytes: number | null;
}

/**
 * The recorder's data about the batches that the span's steps received. Times are means per batch in ns. A field is
 * None if no batch has the value.
 * main              the loader with the most waiting; all fields are about it, except lanes, queues, workers and
 * slowest
 * loaders           in the order of the table of loaders, which workers, lanes and queues share
 * sampled           number of batches that the recorder sampled
 * cpu_share, core_wait_share, kind, bytes   of the sampled batches; kind is None if these are too few
 * production_ns     = dataset_ns + collate_ns, see `settled_batches`
 * transfer_ns       from the end of the batch in the worker until it is an object of the main process (and pinned)
 * ready_ns          from then until the training loop requests it
 * wait_ns           wait of the training loop
 * consumer_ns       time of the steps without waits for late batches
 * late_ns           these waits; if the steps contain no mark of this loader, late_ns is 0 and consumer_ns None
 * batches_per_step  mean over the steps whose batches are recorded
 * steps, marks_ns   steps that begin in the window [start_ns, end_ns) of the lanes, and when each does
 * overhead_ns       time to receive a batch that is ready, see `_receiving_ns`
 * sampler_ns        time in which the loader draws the indices of a later batch
 * files             number of the recorder's files that were used
 * lines             None for a loader without workers, for which call stacks in the trace show more
 * held_ns           how long a produced batch waits in its worker because Python code of the dataset holds the
 * interpreter; None if that does not happen
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
 * The innermost line outside torch and Python's library, as frames name it: "data.py(41): __getitem__".
 * share          estimated share of the time in which batches are produced
 * error          one standard deviation of share, from the differences between bursts (between clusters, Cochran,
 * Sampling Techniques, 3rd ed., 9A.1)
 * ns_per_batch   share of the time of a batch
 */
export interface RecordedLine {
  line: string;
  share: number;
  error: number;
  ns_per_batch: number;
}

/**
 * The lines of source code in which workers spend their time.
 * lines             longest first; if there are none, `why` says why
 * samples, bursts   number of samples, and of bursts of samples, that they are based on
 * whole             whether they cover the whole recording, because the span has too few samples
 */
export interface RecordedLines {
  lines: RecordedLine[];
  samples: number;
  bursts: number;
  whole: boolean;
  why: Reason | null;
}

/**
 * A loader as its recorder wrote it. label: its name in the table of loaders, or a new one if that has no row for
 * it. batches: number of its batches that are taken within the steps.
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
 * One worker process over the span. Times are means per batch in ns.
 * worker            -1 is the main process itself
 * sampled           number of batches that the recorder sampled
 * cpu_share         CPU time of the thread over the time in which it works on a sampled batch; None if none is sampled
 * core_wait_share   time in which it could have run but had no core, over the same; None if no batch has it
 * busy_share        share of the span in which it produces batches
 * kind              what limits it; None if too few batches are sampled
 * ended             False if the process was killed; None if that is not known
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
 * Steps at equal distances that do extra work.
 * every        distance from one such step to the next
 * steps        their names
 * excess_ns    their mean length minus the median length of the other steps; if steps vary, only the difference at the
 * place of the extra work
 * outside_ns   the part of it that is after ops and in no op
 * name         the op that takes most of the extra time, "" if there is none
 * more         number of additional calls of that op in each of these steps
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
 * collective of a step there, or more than can be reduced. It is also empty if the recording has no ops, because
 * nothing then separates the host's work from its waits.
 * unexplained: share of the recording that no edge explains, or share of device work without a recorded launch,
 * whichever is larger.
 * began, ended: recorded times of its steps relative to the origin, ns: the first begin on the host, and the last end
 * of anything on the host or launched by the step; 0 for a step without any.
 * recorded: the paths as recorded; later: without one-time work and the profiler's own, as in a later step. These are
 * also gone in the others: instant_host: with a host that takes no time; no_loader: without waits for batches;
 * uninterrupted: without the excess of single calls and kernels over all others like them. Paths that would be those
 * of a later step are empty, and so are these where they are those recorded.
 */
export interface Reduced {
  unexplained: number;
  began: PackedColumn;
  ended: PackedColumn;
  recorded: Paths;
  later: Paths;
  instant_host: Paths;
  no_loader: Paths;
  uninterrupted: Paths;
}

/**
 * Means per step; times in ns.
 * copies           number of gradients copied out of buckets
 * copies_ns        the host's time for them
 * searches         number of searches for unused parameters
 * search_ns        the host's time for them
 * idle_search_ns   the part of search_ns in which no device works
 * map_ns           exposed time of the all-reduces that tell which parameters were used: for each search that of the
 * median one. Such an all-reduce does not wait for late ranks, because it follows others that did.
 * parameters       number of parameters in such an all-reduce; None if the trace does not show it
 * all_used         whether each of them got a gradient in each step; None if the trace does not show it
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

/**
 * The peak rate for inputs of one type.
 * tensor_cores  whether this is the rate of tensor cores; FP32 inputs have a second roof without them
 * products      number of products on tensor cores for each product, 0 without tensor cores; fused attention computes
 * each product of FP32 inputs as three TF32 products
 */
export interface Roof {
  dtype: string;
  tensor_cores: boolean;
  tflops: number;
  products: number;
}

/**
 * The roofline of a device.
 * memory_gbs           peak bandwidth of its memory in GB/s; None if the peaks of the GPU are unknown
 * roofs                the roofs of the dots, the highest first
 * dots                 the groups of calls with the most time
 * more_dots, more_ns   number and kernel time of all other dots, which are not shown
 * unknown_ns           kernel time of ops without a formula, or without recorded inputs, except collectives, which
 * compute nothing
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
 * shapes, dtype      the shapes of the inputs as compact JSON, and the type that the roof is chosen by
 * kernel, short      full and short name of the longest kernel
 * kernel_count       number of kernels that one call launches, as a mean
 * calls, total_ns    number of calls in the span, and the summed length of their kernels
 * flops, bytes       operations of one call, and the bytes that it moves at least
 * tensor_cores       whether the longest kernel runs on tensor cores
 * roof_tflops        peak rate for the type of the inputs; None if the data sheet of the GPU or the type is unknown
 * efficiency         time that the calls would take at the roof / time that their kernels take
 * above              why the efficiency is more than 1; None if it is not. The name of a kernel may show an
 * algorithm that needs fewer operations (Winograd, Fourier), caches may hold the inputs, expanded
 * inputs may take less memory than their shapes suggest, or the clock may be higher than in the
 * data sheet
 * bound              what limits the calls; None if the roofs are unknown
 * gain_ns            the most time that the span would save if the calls reached GOOD_FRACTION of their roof; 0 if
 * the roofs are unknown
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
 * Tokens that the ranks of a group exchange with their experts: sums over `steps` steps and `calls` all-to-alls to
 * the experts, without those back.
 * hidden     number of elements of a token
 * sent       tokens that each rank sends, including those for its own experts; in the order of ranks
 * received   tokens that each rank receives for its own experts; the sum over the group is that of sent
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
 * A row of both sides, or of one of them: then the names of the other are None. Times and counts are per step.
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
 * A run, by one span that is read of its first worker: the one whose card it has, else the newest.
 * work: the number of its group: runs whose steps do the same on the same machine, as far as the recordings show
 * (`comparison.fairness`); None where that cannot be told. others: how many processes of the run do other work and
 * are no ranks of its job; the line says nothing of them. ranks: how many ranks the job has whose step and first card
 * the line has; 1 where both are of the span. step_ns: mean step of the span, or the job's step. trend_ns: mean step
 * of each span that is read, of a single span each step. parts_ns: of the span. fix: title of the first card that
 * saves time, with what it gains per step, at most: that on which the newest spans agree, or that of the job whose
 * ranks they are (`insights.run_advice`); None: none does. agreement: how far spans agree; None where they say the
 * same.
 */
export interface RunLine {
  run: string;
  worker: string;
  number: number;
  span: string;
  work: number | null;
  others: number;
  ranks: number;
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
 * The events of the whole span whose names contain the searched words.
 * tracks            one entry for each track with such events
 * count, total_ns   number and length of the events of the requested track, or of all tracks; nested events are added
 * up as well
 * hits              a part of these events
 * first             number of the first event in hits, counted from 0 in time order
 * next              number of the first event that begins at the requested instant or later; count if none does
 * bins              number of events that begin in each of equal parts of [bins_from_ns, bins_to_ns), the range of all
 * events
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
 * A part of the mean step as the view draws it: one field of `Parts`, or one or several of `IdleNs`. The segments
 * add up to the mean step.
 * works    whether the device works
 * reasons  if it does not, the reasons in IdleNs for which it is idle
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
 * A segment whose free memory is kept by blocks in use. pieces: number of its free parts; kept_by: the line that
 * allocated the largest block in use.
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
 * The length of a step in ns if one part took no time.
 * host            the host's own time
 * device          the work of devices, without exchanges between ranks
 * loader          waits for batches
 * communication   exchanges between ranks
 * blocking        waits of calls for devices
 * host_and_device   the first two together
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
 * `value` is the span's own figure, which is not always the mean of the steps. `steps` has one entry per step. None
 * means "not measurable here"; `reason` says why. `device` is None for figures of the whole process.
 */
export interface Series {
  metric: string;
  device: number | null;
  value: number | null;
  steps: (number | null)[];
  reason: Reason | null;
}

/**
 * The environment of a job and the options of its recording.
 * runtime        CUDA or ROCm with its version; None if not recorded
 * with_stack, with_shapes, with_memory   options of the profiler; each of them slows the host
 * first_inputs   inputs of the first products and convolutions of a step; empty if no op has recorded inputs
 * half_share     share of the calls of products and convolutions whose first input has 16 bits; None if no op has
 * recorded types
 */
export interface Setup {
  runtime: string | null;
  with_stack: boolean;
  with_shapes: boolean;
  with_memory: boolean;
  first_inputs: OpInputs[];
  half_share: number | null;
}

/**
 * How the devices of a process work together.
 * concurrency     mean number of devices that work, over the time in which any does
 * busy_ns         time per step in which each device works
 * union_busy_ns   time per step in which any of them works
 * blockers        the ops that block, most idle time first
 */
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
 * A place within a phase from which work is launched, such as the buffer broadcast of the forward pass. Values are
 * means per step.
 * launches           number of activities that are launched here
 * calls              number of calls that launch them; all activities of a graph have one
 * device_ns          time in which work that was launched here runs (union over streams)
 * idle_ns            idle time, by reason, that ended with an activity launched here
 * bubble_ns          the part of it that a blocking call causes (see BlockingRow)
 * paused_ns          the part of it in which the host is late because it pauses (`paused_late_ns`)
 * split_ns           the part of it in which the host is late while it launches little between two calls that wait
 * (`split_late_ns`)
 * each_ns            median length of the activities launched here, without exchanges between ranks; None if there are
 * no others
 * run_ahead_p50_ns, starved_share   None without launches
 * examples           the longest gaps for which the host is late; if there are none, the longest for any reason
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
  paused_ns: number;
  calls: number;
}

/**
 * One of the batches that took longest to produce. step: the step that received it; None outside the steps.
 * wait_ns: how long the training loop waited for it. start_ns is relative to the span's origin.
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

/**
 * Products of 16 bits on a CPU without instructions for them, in the mean step.
 * usual_ns    their time in a step in which each op takes its lower median time
 * rate        operations per ns of that time
 * fp32_rate   the same of the recording's products in FP32, or else one that such a CPU reaches
 */
export interface SlowHalf {
  dtype: string;
  usual_ns: number;
  rate: number;
  fp32_rate: number;
}

/** A step of three times the usual. */
export interface SlowJobStep {
  step: number;
  end_ns: number;
  duration_ns: number;
  wait_ns: number | null;
  collecting_ns: number;
}

/**
 * A slow step (`metrics.means`), and the part that grew most over the part's median.
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
 * at_bytes. strips: segments with their blocks at the end; more_strips: how many others there are. growth: since
 * another snapshot, if that was asked for.
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
 * A snapshot file. lost: number of entries that could not be read, by kind. growth: what grew since an earlier
 * snapshot, if one was given.
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
 * A recorded line in its file. source: the name of the row that it comes from; first, last: the lines of the
 * function, or the same line twice; 0 for "other".
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

/** Kernel time in ns, where kernel_ns = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns. */
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
 * A rank of the pipeline; times in ns per step.
 * stages                     the stages that the rank computes
 * forward_ns, backward_ns    its passes
 * other_ns                   its other work, such as the optimizer
 * schedule_ns, imbalance_ns, ordering_ns, transfer_ns   its idle time by cause
 * All these times sum to step_ns.
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

/** Where a step is in its span, relative to the span's origin. left_out_ns: the part of it that is not judged. */
export interface StepMark {
  name: string;
  start_ns: number;
  end_ns: number;
  left_out_ns: number;
}

/**
 * Median lengths of a job's steps, in ns, that were recorded and that were not.
 * recorded, plain   number of steps behind each median
 * differ            the 95 % intervals of the medians do not overlap, so that one is longer by more than chance
 * plain_p1_ns       1st percentile of the steps that were not recorded, no less than the second shortest
 */
export interface StepPace {
  recorded_ns: number;
  recorded: number;
  plain_ns: number;
  plain: number;
  differ: boolean;
  plain_p1_ns: number | null;
}

/**
 * One step. parts_ns sums to duration_ns.
 * start_ns       relative to the span's origin
 * slow           whether it is an outlier
 * gpu_busy_ns    time in which any device works; None in a trace without device activity
 * steady_ns      the step without excess
 * excess_ns      by kind
 * forward_only   whether it runs a forward pass alone, although others train
 * These times of the step are left out of verdicts, gains and cards:
 * before_recording_ns   the main device runs work from before the recording
 * once_ns               it is idle during one-time work of the host
 * after_recording_ns    no more work of it is recorded
 * profiler_ns           it is idle while the profiler itself works
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
  forward_only: boolean;
}

/** What some steps wait for, with means over these. curve: None if `why_unknown` says why. */
export interface StepWaits {
  steps: LoaderStep[];
  mean: LoaderStep;
  causes: WaitCauses;
  curve: WorkerCurve | null;
}

/**
 * A segment and the blocks in it.
 * free_bytes     free memory in it while blocks of it are in use; 0 if no block is
 * offset, size   columns: each block's place in the segment and its bytes
 * used           whether the block is in use, or other streams may still use it
 * line           place in `lines` of the line that allocated it; -1 if not recorded
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
}

/**
 * Kernels that fill gradients of tables with zeros, or update tables by these gradients; means per step.
 * saved_ns    part of their time that sparse gradients save
 * tables      number of these gradients
 * rows        number of rows of the largest table
 * indices     number of indices of a batch in that table
 * site        where the kernels come from
 */
export interface TableGradients {
  saved_ns: number;
  tables: number;
  rows: number;
  indices: number;
  site: KernelSite;
}

/**
 * The result of the tensor core view. unknown: why there is nothing to split (no kernels, a GPU without tensor
 * cores).
 */
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
 * The events that touch [start_ns, end_ns), merged where they are narrower than detail_ns.
 * names: as on the boxes; full_names: as in the trace, "" where that is the same; colours: ids of meanings.
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

/** The time span of the timeline. first_ns: start of the first event; last_ns: end of the last one. */
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
 * One track of the picture.
 * group      the heading above it: "GPU 0", "Process 4711"
 * label      "Stream 7", "Thread 4711 (pt_autograd_0)"
 * rows       number of nesting levels, at least one
 * pinned     whether it stays visible when the picture is scrolled, as steps, phases, excess, the loader, and the
 * busiest streams do
 * all_rows   number of nesting levels with every Python frame; more than `rows` where frames are folded
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

/** The number of events found on a track, and their total length. */
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
 * The result of the trends view. origin_ns: epoch time of the span's t = 0; series: every metric of the catalogue,
 * measurable or not, except GPU counters that were not sampled.
 */
export interface TrendsResult {
  origin_ns: number;
  steps: StepMark[];
  series: Series[];
  time_bins: MetricBins[];
  slow_steps: SlowStep[];
}

/** The texts of the Trends view: its headline, and titles by picture. */
export interface TrendsTexts {
  headline: Headline;
  titles: Partial<Record<TrendsTitleId, Phrase>>;
}

/**
 * The judged step after any set of cards, by a replay.
 * ids: cards whose change can be replayed, in their order. steps: by set, bit n of a step's place says whether ids[n]
 * is in it; steps[0] is the judged step itself. ticked: the set that is shown first. why_not: why other cards, or all,
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
 * Nodes of the backward pass that no backward pass runs.
 * unused, all        number of nodes without use and of all nodes of forward ops, per step that has any without use;
 * equal for an inference
 * steps              names of these steps
 * name               the op with the most time, among those that created the unused nodes
 * ns                 time of all these ops, mean over all steps
 * start_ns, end_ns   from the first to the last of these ops, in the step in which they take longest
 * Ops after the last node of the recording do not count, because their backward pass may not be recorded. What a
 * checkpoint computes again inside a node does not count either. In an inference all nodes count, because it has no
 * backward pass.
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
 * Products of a matrix and a vector, with weights of 16 bits or more; means per step.
 * share          share of the kernel time
 * one_row        share of their time in products with one row of input; None if shapes of most of it are not recorded
 * attention_ns   time of products whose ops are those of attention, which have no weights
 * named_ns       time of all kernels with a known op
 */
export interface VectorProducts {
  share: number;
  count: number;
  total_ns: number;
  one_row: number | null;
  attention_ns: number;
  named_ns: number;
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

/** The causes of the mean exposed wait. starts: None if no epoch begins in the steps. */
export interface WaitCauses {
  shares: WaitShares;
  starts: EpochStarts | null;
  jitter: Jitter | null;
  overhead: Overhead | null;
}

/** Long gaps in which the host does the same thing. count, late_ns: their number and late time over the span. */
export interface WaitName {
  name: string | null;
  compiled: boolean;
  unusual: boolean;
  count: number;
  late_ns: number;
}

/**
 * Parts of the mean step in ns, which sum to its judged exposed wait. first_ns: where epochs end and begin.
 * others_ns: for other loaders than the one with the most waiting.
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
 * Kernels with the same fault; means per step. name: the kernel with most of the gain, None without any. gain_ns:
 * upper bound of the gain if the fault were fixed. site: where the kernel is launched.
 */
export interface Waste {
  name: string | null;
  count: number;
  total_ns: number;
  gain_ns: number;
  site: KernelSite | null;
}

/**
 * A breakdown of the step. rows: they sum to the mean step on both sides. more: how many of the smallest changes
 * are folded into `rest`.
 */
export interface Waterfall {
  by: "kernel" | "module" | "op" | "part" | "phase" | "reason";
  rows: Contribution[];
  more: number;
}

/**
 * The length of a recording's steady step after changes. changes: the largest gain first.
 * median_step_ns    the steady step as in all other views: the median length of the steps without excess
 * steady_step_ns    the replayed step of median length without its excess. It follows itself again and again, so it is
 * longer than the median where a few steps wait for the batches of all
 * replayed_step_ns  the same step with its excess, replayed
 * recorded_step_ns  the recorded step, from its start to that of the next one; the mean where a loader sets the pace
 * device_ns         work of the busiest device in the steady step, without exchanges
 * device_curve      length of the step without (n / last) ** 2 of that work, for n from 0 to the last
 * pace              what sets the pace according to the sensitivity: the value of a `Bound`
 * wait_error        relative difference of replayed and recorded blocking calls; None without such calls
 * unexplained       share of the steady step that no edge explains
 * unlinked          share of device work without a recorded launch, apart from work from before the recording
 * trusted           whether the replay reproduces the recorded step, covers most of the mean step and its waits for
 * batches, and shows what sets the pace
 * holds_unprofiled  whether the pace is the same if profiling has doubled the host's time
 * half_host_ns      the steady step in that case; 0 where a device sets the pace in any case
 * for_ranks_ns      waits of its collectives for other ranks. The sensitivity changes all ranks equally. The changes
 * affect this rank alone, so these waits remain
 * alone_ns          the steady step if the host and the loader of this rank took no time, and other ranks arrived at
 * its collectives as recorded
 * pauses_alone_ns   what the only recorded step gains if its calls and ops are not interrupted, and other ranks
 * arrive at its collectives as recorded; None if exchanges do not set the pace, and with several
 * steps, as the replayed one hardly has such pauses
 * observed_ns       what the mean step takes at least because something besides the profiler observes its ops; gains
 * include it
 * behind_batches_ns what the step without waits for batches gains beyond the device's idle time in these waits:
 * launches that are late only because a batch was
 * waits             gains of `sync_bubble` if only the calls of one origin no longer wait, with the origin as the id;
 * empty if all have the same. The others still wait, so that all together may gain more
 * sets              all sets of the changes with the largest gains, including changes that help only after others;
 * empty if the replay is not trusted
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
  alone_ns: number;
  pauses_alone_ns: number | null;
  observed_ns: number;
  behind_batches_ns: number;
  waits: Gain[];
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
 * Repeated computation of earlier tokens.
 * repetitions   number of recorded repetitions
 * first, last   smallest and largest number of tokens of one text that a repetition computes
 * added         number of new tokens among these
 * ns            time of a step in which earlier tokens are computed; None if it cannot be determined
 * by_slope      whether ns is derived from how much longer repetitions with more tokens take, not from the work of
 * products
 * is_causal     whether no token depends on later ones in any attention op; None if an op does not show it
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
 * The step time by number of workers.
 * measured_workers   0 for a loader in the main process
 * measured_step_ns   the mean step of this span
 * recommended        the number of workers to set; 0 if workers would cost more than they save
 * floor_ns           the step with that number
 * gain_ns            measured_step_ns - floor_ns; 0 if no more workers are needed
 * needed             number of workers that keep up with the step, whatever the number of cores
 * epochs_ns          time for the ends and starts of epochs, in each point and in the measured step
 * batches            number of batches per step
 * cores              cores of the recording machine, if a recorder states them
 * limits             reasons why the real step may differ from the curve
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
