"""Many launches of the model that come too late: a graph launches them all at once. The advice depends on the model.

eager       |l|l|l|l|l|l|    -> as one graph: torch.compile(mode="reduce-overhead")
compiled    |l|l|l|          -> the same, of code that is compiled already
graphs      |G|....|G|....   -> what the CPU does between their launches
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.host_gains import sites_of
from tb_steptime.insights.rules.host.blocking_calls import MANY_READS, generates, rolls_out
from tb_steptime.insights.rules.host.blocking_rows import calls_of, is_of_library, waiting_op
from tb_steptime.insights.rules.host.idle_cards import (
    BACKWARD,
    FORWARD,
    HOOKS,
    Advice,
    claims,
    has_one_graph,
    in_graphs,
    late_card,
    model_late,
)
from tb_steptime.insights.wording.terms import captured_graph
from tb_steptime.metrics.idle.blocking_rows import LARGE_BYTES, BlockingRow
from tb_steptime.metrics.job.servers import Server
from tb_steptime.text import Phrase, agreeing, count, filled, fraction, ns, phrase, text

#: From this share on, the model counts as compiled. A small share is enough, because products and convolutions still
#: use the kernels of their libraries.
COMPILED = 0.1
#: From this share of the layers on, what runs without gradients is worth compiling, too; a table of positions is less.
_TEACHES = 0.1
#: From this share of the kernel time on, graphs hold the whole step: what is beside them prepares the inputs.
_ALL_KERNELS = 0.99


def launch_graphs(facts: Facts) -> Insight | None:
    """Fires when the GPU waits for the many launches of the model itself.

    Similar pattern: a few long gaps: `long_stretches` is about those. Waits for batches, blocking calls and pauses are
    other reasons of the same partition. Autograd's anomaly detection waits after each op, and no graph can be captured
    with it: `anomaly_detection` comes first. A job that captures the same ops in this recording has its graphs.
    Gradients of gradients, which compiled code refuses: the advice is a graph of the loss and its backward pass. With
    torch.func it takes them, but only the transform as a whole: the advice is to compile that, not the model. A loop
    over the cell of a recurrent layer: the advice is the layer. A model that launches mostly in such layers, which
    torch.compile leaves as they are: the advice is a graph of the model. TorchScript, which it refuses: the module
    before it was scripted. Engines of TensorRT and ONNX Runtime, which have options of their own. An inference that
    concatenates, as a cache of keys and values that grows does: the advice asks for a static one, since each length
    would have a graph of its own. A loop over experts or images that reads how many rows each one has, which no graph
    can hold: the advice is fixed shapes first. A model that reads other results within its modules, such as how many
    tokens each expert has: the advice is to read none there. What is read between its passes, such as the next token,
    is in no module. Ops of a library that read sizes themselves, as sparse convolutions do: nobody can fix these, and
    the advice is more work for each launch. FSDP, which allocates its weights again and again, so that no graph can
    hold their addresses: the advice is to compile its blocks, or more work for each launch. A larger batch gains only
    per sample, where memory and training allow it, so where only that is advised the card is a hint. A rollout, or a
    validation in each step: most layers run without gradients in many passes, between which values are read or copied,
    so that no graph holds several: the advice is more inputs in each, of environments or, if the passes have attention,
    of prompts. A teacher, which no compiled model reaches: the advice is to compile it, too.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: those with a GPU whose model launches many short kernels; the advice depends on whether it is compiled or
    captured already, and on whether it trains.

    Gain: the GPU's idle time until work from the model is launched and reaches it, mean over the steps; long gaps,
    waits for the loader, blocking calls and pauses are left out, and launches of which few lie between two calls that
    wait, as no graph can hold more than these. So are launches that are late only because a call waited before them,
    as a replay shows. Where the calls break compiled code up, these launches count: it could be one graph without them.
    The gain is at most the share of the step that a replay of graphs gains.
    Where batches come late, the card gains this only once they come in time, unless a replay shows more.

    Left out: what the profiler adds to each launch where no recorder timed steps without it: the GPU waits less then.
    """
    model, left = model_late(facts.host), claims(facts)
    if in_graphs(facts) or facts.host.anomaly is not None or facts.has_finding("graphs_captured"):
        return None
    pieces = _is_compiled(facts) and facts.job.left_as_is != "exported"  # a package has no graph breaks
    split = _reduced(model.split, left.split) if pieces else {}
    if sum(split.values()) > sum(model.short.values()):
        return _card(facts, "launch_graphs", split, model.launches, _OF_PIECES, _NEEDED)
    if not model.short:
        return None
    short = _reduced(model.short, left.short)
    if facts.job.left_as_is == "sharded" and facts.compiles_model and facts.job.server is None:
        if _is_compiled(facts):
            return _card(facts, "launch_graphs", short, model.launches, _OF_COMPILED_SHARDS, _LARGER)
        return _card(facts, "launch_graphs", short, model.launches, _OF_SHARDS, _FEWER)
    advice = _advice(facts, model.short)
    in_use = advice in (_CAPTURE_MORE, _OF_COMPILED)
    layer = facts.job.sequence_layer if facts.job.vendor in ("nvidia", "amd") else None
    if not in_use and facts.job.double_backward:
        advice = replace(advice, how=_OF_LOSS)  # cuDNN's layers refuse gradients of gradients, too
    elif not in_use and facts.job.transforms and facts.job.compiles:
        advice = replace(advice, how=_OF_TRANSFORM)
    elif not in_use and layer is not None:
        advice = Advice(f"Run the whole sequence in one `nn.{layer}`", _LATE_CELLS, _OF_SEQUENCE.format(layer=layer))
    elif facts.job.accelerator == "XPU":
        advice = replace(advice, how=_BY_HAND_ON_XPU)
    elif advice is not _CAPTURE_MORE and facts.job.left_as_is in _OF_ENGINES:
        advice = replace(advice, how=_OF_ENGINES[facts.job.left_as_is])
    elif not in_use and facts.job.left_as_is == "scripted":
        advice = replace(advice, how=_OF_SCRIPTED)
    elif not in_use and rolls_out(facts):
        advice = replace(_OF_ROLLOUTS, how=_OF_PROMPTS) if generates(facts) else _OF_ROLLOUTS
    elif not in_use and facts.trains and facts.job.no_grad.share >= _TEACHES and facts.job.compiles:
        advice = replace(advice, how=_OF_TEACHER)
    elif not facts.job.compiles or (not in_use and facts.job.left_as_is == "recurrent"):
        advice = replace(advice, how=_BY_HAND)
    elif advice is not _CAPTURE_MORE and facts.job.server is None and _sizes_read(facts) >= MANY_READS:
        advice = _OF_LIBRARY if _libraries_read(facts) else _OF_SIZES
    elif advice is not _CAPTURE_MORE and facts.job.server is None and _read_in_modules(facts) >= MANY_READS:
        advice = _OF_READS
    elif advice is _OF_INFERENCE and _concatenates(facts):
        advice = replace(advice, how=_OF_CACHE)
    guess = _LARGER if advice is _OF_LIBRARY else None
    advice = replace(advice, how=_of_server(facts, _CAPTURES_MORE if in_use else _CAPTURED_BY, advice.how))
    return _card(facts, "launch_graphs", short, model.launches, advice, guess)


def between_graphs(facts: Facts) -> Insight | None:
    """Fires when graphs launch most of the work, and the GPU waits for the CPU between them.

    Similar pattern: many launches beside a few graphs: `launch_graphs` is about those. A recording with a single launch
    of a graph does not show what is between two of them: there is no card.

    Needs: CPU and GPU activity, with the calls that launch graphs.

    Jobs: those with a GPU whose work is launched in graphs, of decoding for example.

    Gain: the GPU's idle time until work from the model is launched and reaches it, mean over the steps; long gaps,
    waits for the loader, blocking calls and pauses are left out, and what `sync_bubble` counts behind its waits.

    Left out: what the next graph needs of the results of the one before.
    """
    model = model_late(facts.host)
    if not in_graphs(facts) or has_one_graph(facts.host):
        return None
    left = claims(facts)
    gaps, split = _reduced(model.short, left.short), _reduced(model.split, left.split)
    short = {site: gaps.get(site, 0) + split.get(site, 0) for site in {**gaps, **split}}
    before_ns = facts.host.before_graphs_ns
    eager = before_ns is not None and 2 * before_ns < sum(model.short.values()) + sum(model.split.values())
    launches = facts.host.launches  # where one graph a step launches all kernels, passes and optimizer are in it
    is_whole = launches is not None and launches.graphs <= 1 and (facts.job.graph_share or 0.0) >= _ALL_KERNELS
    in_parts = facts.trains and not is_whole
    script = _WHOLE_STEP if in_parts else _FEWER_OPS if eager else _INPUTS
    advice = Advice(_SHORTEN, _BETWEEN_EAGER if eager else _BETWEEN, how_to_schedule_ahead(facts, script))
    return _card(facts, "between_graphs", short, model.launches, advice) if short else None


def _reduced(late: Mapping[str, int], left_ns: int) -> dict[str, int]:
    """Returns each site's share, rounded down, of what is left of the time of all sites."""
    whole = max(sum(late.values()), 1)
    return {site: min(left_ns, whole) * ns // whole for site, ns in late.items()}


def how_to_schedule_ahead(facts: Facts, script: str) -> str:
    """Returns how the CPU prepares the next batch while the GPU works. script: what a script does for it."""
    return _LOOK if facts.job.schedules_ahead else _of_server(facts, _SCHEDULED_BY, script)


def _concatenates(facts: Facts) -> bool:
    """Returns whether tensors are concatenated, as keys and values of earlier tokens are with those of the next one."""
    return any(copy.kind == "concatenation" for copy in facts.waste.copies)


def _of_server(facts: Facts, options: Mapping[Server, str], script: str) -> str:
    """Returns the options of the server that runs the job, or what a script does."""
    return script if facts.job.server is None else options[facts.job.server]


def _sizes_read(facts: Facts) -> float:
    """Returns how many calls of the model a step wait for the size of a result, such as that of aten::nonzero or of a
    sparse convolution: torch.compile breaks the model up at each, and what follows has another shape in each step. What
    metrics read behind the passes does not count."""
    return sum(row.count for row in _rows_of_sizes(facts))


def _libraries_read(facts: Facts) -> bool:
    """Returns whether ops of libraries make most of these calls, so that the script cannot fix the shapes."""
    return 2 * sum(row.count for row in _rows_of_sizes(facts) if _reads_size(row)) > _sizes_read(facts)


def _rows_of_sizes(facts: Facts) -> list[BlockingRow]:
    rows = [row for row in calls_of(facts, "plain") if row.phase in ("forward", "unknown")]
    return [row for row in rows if waiting_op(row).id in ("mask", "unique") or _reads_size(row)]


def _read_in_modules(facts: Facts) -> float:
    """Returns how many calls a step read something from the GPU within modules of the model. Between passes, no module
    is open. Without call stacks no module is known."""
    rows = [row for row in calls_of(facts, "plain") if row.phase in ("forward", "unknown") and row.module is not None]
    return sum(row.count for row in rows if row.direction == "DtoH")


def _reads_size(row: BlockingRow) -> bool:
    """Returns whether an op of a library reads values of the GPU itself: it allocates its results by them."""
    return row.direction == "DtoH" and (row.bytes or 0) < LARGE_BYTES * row.count and is_of_library(row)


def _is_compiled(facts: Facts) -> bool:
    return (facts.job.compiled_share or 0.0) >= COMPILED


def _card(
    facts: Facts, id: str, short: Mapping[str, int], launches: float, advice: Advice, guess: Phrase | None = None
) -> Insight | None:
    """short: how late launches of the model come, in ns a step, by place. guess: as in `late_card`. {graph} stands for
    "CUDA graph", or for the name that another vendor gives it; {Graph} begins a sentence."""
    gain_ns = sum(short.values())
    most = max(sites_of(facts.host, short), key=lambda row: row.launches)
    graph = captured_graph(facts.job.vendor, facts.job.accelerator)
    name = str(graph.value)
    values = {
        "launches": count(round(launches)),
        "each": ns(most.each_ns or 0),
        "graph": graph,
        "Graph": text(name[:1].upper() + name[1:]),
        "share": fraction(facts.job.graph_share),
        "sizes": count(round(_sizes_read(facts))),
        "reads": count(round(_read_in_modules(facts))),
        "passes": count(round(facts.job.no_grad.passes)),
        "late": ns(gain_ns),
    }
    title, why = filled(advice.title, values), filled(agreeing(advice.why, round(launches)), values)
    return late_card(facts, short.keys(), gain_ns, guess=guess, id=id, title=title, why=why, how=advice.how)


#: Graphs save the launches; where they do not fit, more work for each launch helps.
_COMPILE = 'model = torch.compile(model, mode="reduce-overhead")\n# or a larger batch'
_REDUCE = 'model = torch.compile(model, mode="reduce-overhead")\n# TORCH_LOGS=graph_breaks names what breaks it up'
_STATIC = 'model = torch.compile(model, mode="reduce-overhead")\n# static shapes, or more inputs in a batch'
#: A graph is captured again for each new shape (`cudagraph_skip_dynamic_graphs` in inductor's config.py).
_OF_CACHE = """model = torch.compile(model, mode="reduce-overhead")  # static shapes: each new one is captured again
# keys and values that grow: generate(..., cache_implementation="static")  # Hugging Face"""
_BREAKS = """TORCH_LOGS=graph_breaks python ...  # names what breaks it up, such as .item()
# then one graph: torch.compile(model, mode="reduce-overhead")"""
#: Gradients of gradients: torch.compile refuses them, and make_graphed_callables does not support them.
_OF_LOSS = """with torch.cuda.graph(graph):  # torch.compile refuses gradients of gradients
    loss = loss_of(inputs); loss.backward()  # all gradients, at static shapes
# or a larger batch"""
#: A compiled model runs eagerly while a transform is active, without a graph.
_OF_TRANSFORM = """step = torch.compile(step, mode="reduce-overhead")  # the function that calls vmap and grad
# a compiled model inside of a transform runs eagerly
# or a larger batch"""
_OF_TEACHER = """model = torch.compile(model, mode="reduce-overhead")
teacher = torch.compile(teacher, mode="reduce-overhead")  # what runs under no_grad, if it is another module
# or a larger batch"""
_OF_ENVIRONMENTS = """envs = gymnasium.vector.AsyncVectorEnv(makers)  # one pass for many environments or prompts
# or policy = torch.compile(policy, mode="reduce-overhead")"""
#: TRL generates in vLLM, which captures graphs, and updates its weights after each step.
_OF_PROMPTS = """tokens = model.generate(**more_prompts)  # one pass for the next token of many prompts
# or in graphs: generate(..., cache_implementation="static"), or TRL: GRPOConfig(use_vllm=True)"""
#: cuDNN and MIOpen compute a sequence in one call, for which they need all of its inputs.
_OF_SEQUENCE = """layer = torch.nn.{layer}(features, hidden)  # one call for the sequence, if all inputs are known
# otherwise graphs, or a larger batch"""
#: The module before torch.jit.script, trace or freeze.
_OF_SCRIPTED = """model = torch.compile(eager_model, mode="reduce-overhead")  # it refuses a scripted module
# or a larger batch"""
#: Options of other engines. A graph of ONNX Runtime reads and writes at the same addresses in each run. Without the
#: option of aoti_load_package (PyTorch 2.7), capturing fails: the container asks which of its models is done.
_OF_ENGINES: dict[str, str] = {
    "tensorrt": "torch_tensorrt.runtime.set_cudagraphs_mode(True)  # static shapes: each new one is captured again",
    "onnxruntime": """InferenceSession(path, providers=[("CUDAExecutionProvider", {"enable_cuda_graph": "1"})])
# static shapes; inputs and outputs are bound by io_binding()""",
    "exported": """model = torch._inductor.aoti_load_package(path, run_single_threaded=True)
with torch.cuda.graph(graph):  # after a few calls; static shapes: copy new inputs into these
    outputs = model(*inputs)""",
}
#: torch.nn.functional.grouped_mm takes the ends of the experts' rows as a tensor (`offs`), which no call reads.
_OF_FIXED_SHAPES = """model.part = torch.compile(model.part, mode="reduce-overhead")  # a part without these calls
# experts of a layer: torch.nn.functional.grouped_mm in place of a loop over them
# Hugging Face: Model.from_pretrained(name, experts_implementation="grouped_mm")"""
_MORE_WORK = "batch_size = 2 * batch_size  # or longer sequences, if memory allows"
_MORE_FOR_LIBRARY = """batch_size = 2 * batch_size  # as many of these calls for twice the inputs, if memory allows
model.part = torch.compile(model.part)  # a part without these calls"""
_OF_BLOCKS = """for block in model.blocks:
    block.compile()  # before fully_shard(block); no graphs: FSDP allocates the weights again and again
# or a larger batch"""
#: Where torch.compile has no code for the GPU or the layers: graphs of torch need none.
_BY_HAND = "model = torch.cuda.make_graphed_callables(model, (batch,))  # static shapes\n# or a larger batch"
#: torch.compile captures graphs on devices of the type "cuda" alone (`check_multiple_devices_or_any_cpu_nodes` in
#: inductor's cudagraph_utils.py); torch.xpu has graphs of its own.
_BY_HAND_ON_XPU = _BY_HAND.replace("cuda", "xpu")
_INPUTS = "# prepare the next inputs while a graph runs"
_FEWER_OPS = "# capture what runs between the graphs, too, or do it in fewer ops"
_WHOLE_STEP = "# one graph of the whole step: forward pass, loss, backward pass and optimizer (capturable=True)"
_LOOK = "py-spy record --pid PID -o scheduler.svg  # the next batch is scheduled ahead already"

_LATE = "{launches} (launch|launches) a step, with a median of {each} of GPU work: the CPU cannot launch them in time."
_LATE_CELLS = f"{_LATE} Those of the forward pass are mostly in cells, one for each element of a sequence."
_LATE_SIZES = f"{_LATE} No graph can hold the {{sizes}} calls that read sizes of results from the GPU."
_LATE_READS = f"{_LATE} No graph can hold the {{reads}} calls in its modules that read results from the GPU."
_LATE_ROLLOUTS = (
    "{launches} (launch|launches) a step, with a median of {each} of GPU work, come late, mostly in {passes} passes "
    "without gradients, with copies from or to the host between them."
)
_LATE_COMPILED = (
    "The model is compiled, yet its {launches} (launch|launches) a step, with a median of {each} of GPU work, "
    "(comes|come) late."
)
_BROKEN_UP = (
    "The model is compiled, yet calls that wait lie between its {launches} (launch|launches) a step, and for {late} "
    "the GPU waits for the CPU between two of them."
)
_NEEDED = phrase("The wait is measured; whether the model needs these calls is not recorded.")
_LARGER = phrase(
    "The wait is measured. A larger batch has no more launches, so a sample waits less; whether memory and training "
    "allow one is not recorded."
)
_FEWER = phrase("Compiled code has fewer launches; how many fewer is not recorded.")
_BESIDE = (
    "{Graph}s launch a part of the work, yet {launches} (kernel|kernels) a step, with a median of {each}, "
    "(starts|start) late."
)
_BETWEEN = (
    "{Graph}s launch {share} of the GPU's work already; between the launches the GPU waits {late} a step for the CPU."
)
_BETWEEN_EAGER = (
    "{Graph}s launch {share} of the GPU's work already; between the launches the GPU waits {late} a step for the CPU, "
    "mostly before work outside the graphs."
)

#: Options of servers, which capture and schedule by themselves.
_CAPTURED_BY: dict[Server, str] = {
    "vllm": "vllm serve MODEL  # without --enforce-eager\n# LLM(MODEL, enforce_eager=False)",
    "sglang": "python -m sglang.launch_server ...  # without --disable-cuda-graph\n"
    "# --cuda-graph-max-bs: the largest batch that a graph is captured for",
}
#: The same where graphs or torch.compile are in use already.
_CAPTURES_MORE: dict[Server, str] = {
    "vllm": """vllm serve MODEL --compilation-config '{"cudagraph_mode": "FULL_AND_PIECEWISE"}'""",
    "sglang": "python -m sglang.launch_server ... --cuda-graph-max-bs N  # the largest batch that is captured",
}
_SCHEDULED_BY: dict[Server, str] = {
    "vllm": "vllm serve MODEL --async-scheduling  # prepares the next step while the GPU works",
    "sglang": "python -m sglang.launch_server ...  # without --disable-overlap-schedule",
}

_SHORTEN = "Shorten what the CPU does between graph launches"
_CAPTURE_MORE = Advice("Capture more of the step in {graph}s", _BESIDE, _COMPILE)
_OF_COMPILED = Advice("Launch the compiled model as a {graph}", _LATE_COMPILED, _REDUCE)
_OF_PIECES = Advice("Keep the compiled model in one piece", _BROKEN_UP, _BREAKS)
_OF_INFERENCE = Advice("Launch the model as a {graph}", _LATE, _STATIC)
_OF_SIZES = Advice("Fix the shapes, then launch the model as {graph}s", _LATE_SIZES, _OF_FIXED_SHAPES)
_OF_READS = Advice("Read no results inside the model, then launch {graph}s", _LATE_READS, _OF_FIXED_SHAPES)
_OF_LIBRARY = Advice("Compute more in each launch", _LATE_SIZES, _MORE_FOR_LIBRARY)
_OF_ROLLOUTS = Advice("Compute more inputs in each pass without gradients", _LATE_ROLLOUTS, _OF_ENVIRONMENTS)
_OF_SHARDS = Advice("Compile each block, or compute more in each launch", _LATE, _OF_BLOCKS)
_OF_COMPILED_SHARDS = Advice("Compute more in each launch", _LATE_COMPILED, _MORE_WORK)
_OF_MODEL = Advice("Launch the model as a {graph}", _LATE, _COMPILE)
#: Advice for training, by whether the forward pass is late and whether the backward pass is late.
_OF_PASSES = {
    (True, True): Advice("Launch forward and backward pass as {graph}s", _LATE, _COMPILE),
    (True, False): Advice("Launch the forward pass as a {graph}", _LATE, _COMPILE),
    (False, True): Advice("Launch the backward pass as a {graph}", _LATE, _COMPILE),
}


def _advice(facts: Facts, sites: Collection[str]) -> Advice:
    launches, job = facts.host.launches, facts.job
    if launches is not None and launches.graphs > 0:
        return _CAPTURE_MORE
    if _is_compiled(facts):
        return _OF_COMPILED
    backward = any(site in sites for site in (*BACKWARD, *HOOKS))
    if job.purpose != "training" and not backward:
        return _OF_INFERENCE if job.purpose == "inference" else _OF_MODEL
    return _OF_PASSES[FORWARD[0] in sites or not backward, backward]
