"""The tools over MCP's stdio transport. The only module that knows the SDK.

The agent reads the docstrings of the tools, and the descriptions of their arguments.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Annotated, ParamSpec

import msgspec
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tb_steptime import __version__
from tb_steptime.files.paths import AnyPath
from tb_steptime.metrics.operators.keys import By
from tb_steptime.terminal.agent import answers, contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError, SpanChoice

P = ParamSpec("P")

INSTRUCTIONS = (
    "Figures of torch.profiler recordings: where the time of a training step goes, why the GPU is idle, what to do. "
    "Begin with list_runs, then summarize. Times are ms per step unless a field says otherwise; shares are 0 to 1; "
    "null is not measurable, and why_none says why."
)

Run = Annotated[str | None, Field(description="A run as list_runs names it; needed only where there are several.")]
Worker = Annotated[str | None, Field(description="A worker of the run; default: its first.")]
Span = Annotated[int | None, Field(description="Number of the recording of a worker, from 1 on; default: 1.", ge=1)]
Limit = Annotated[int, Field(description="Maximum number of rows.", ge=1, le=200)]


def serve(folder: AnyPath) -> None:
    """Answers until stdin ends."""
    server(folder).run("stdio")


def server(folder: AnyPath) -> MCPServer:
    logs = Logs(folder)
    mcp = MCPServer("tb-steptime", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in (*_tools_for_runs(logs), *_tools_for_tables(logs), _definitions()):
        mcp.tool(structured_output=False)(tool)
    return mcp


def _tools_for_runs(logs: Logs) -> list[Callable[..., str]]:
    @_answering
    def list_runs() -> contract.Runs:
        """The recordings in the log directory, with the mean step where that is known already."""
        return answers.runs(logs)

    @_answering
    def summarize(run: Run = None, worker: Worker = None, span: Span = None) -> contract.Summary:
        """One recording: what limits the step, its parts, why the GPU is idle, the main figures, and recommendations
        with their estimated gain."""
        return answers.summary(logs, SpanChoice(run, worker, span))

    @_answering
    def compare(
        base: Annotated[str, Field(description="The run before.")],
        candidate: Annotated[str, Field(description="The run after.")],
    ) -> contract.Comparison:
        """Two runs: how much the step changed, whether that is more than noise, and which parts and kernels changed."""
        return answers.comparison(logs, base, candidate)

    @_answering
    def ranks(run: Run = None) -> contract.Ranks:
        """The ranks of a run as one job: which of them delays the others and why, what decides the step, what the
        stages of a pipeline are idle for, and what to do about it."""
        return answers.ranks(logs, run)

    return [list_runs, summarize, compare, ranks]


def _tools_for_tables(logs: Logs) -> list[Callable[..., str]]:
    @_answering
    def kernels(run: Run = None, worker: Worker = None, span: Span = None, limit: Limit = 15) -> contract.Kernels:
        """The kernels with most time over all steps of a recording."""
        return answers.kernels(logs, SpanChoice(run, worker, span), limit)

    @_answering
    def operators(
        run: Run = None,
        worker: Worker = None,
        span: Span = None,
        by: Annotated[By, Field(description="What ops are grouped by beside their name.")] = "name",
        limit: Limit = 15,
    ) -> contract.Operators:
        """The PyTorch ops with most time of their own over all steps of a recording, on the GPU where there is one."""
        return answers.operators(logs, SpanChoice(run, worker, span), by, limit)

    @_answering
    def source_lines(run: Run = None, worker: Worker = None, span: Span = None, limit: Limit = 15) -> contract.Lines:
        """What each line of the user's code costs over all steps of a recording with stacks: CPU time, GPU time of what
        it launches, idle time of the GPU before that, allocated memory."""
        return answers.source_lines(logs, SpanChoice(run, worker, span), limit)

    @_answering
    def blocking_calls(
        run: Run = None, worker: Worker = None, span: Span = None, limit: Limit = 15
    ) -> contract.BlockingCalls:
        """Calls in which the CPU waits for the GPU, those after which the GPU idles longest first."""
        return answers.blocking_calls(logs, SpanChoice(run, worker, span), limit)

    @_answering
    def memory(run: Run = None, worker: Worker = None, span: Span = None, limit: Limit = 10) -> contract.Memory:
        """Memory of each device: its peak, what is alive then, and whether it grows from step to step."""
        return answers.memory(logs, SpanChoice(run, worker, span), limit)

    @_answering
    def memory_fit(
        run: Run = None,
        worker: Worker = None,
        span: Span = None,
        batches: Annotated[list[int] | None, Field(description="Batch sizes whose peak is estimated.")] = None,
        memory: Annotated[
            str | None, Field(description="Memory of the device, such as 24GB; default: as recorded.")
        ] = None,
    ) -> contract.Fit:
        """Says which batch fits into memory, what fills the peak by module, and which settings (checkpointing,
        optimizers, offload, FSDP) change it, estimated from a recording with memory and shapes. Reads the trace."""
        return answers.memory_fit(logs, SpanChoice(run, worker, span), batches or (), memory)

    @_answering
    def memory_snapshot(
        file: Annotated[
            str | None, Field(description="A snapshot's path in the log directory; default: the one.")
        ] = None,
        since: Annotated[
            str | None, Field(description="An earlier snapshot, to show how much more each line holds since.")
        ] = None,
        limit: Limit = 10,
    ) -> contract.MemorySnapshot:
        """A memory snapshot of PyTorch's CUDA allocator: which lines hold the GPU's memory at the peak and at the end,
        free memory, and why memory ran out."""
        return answers.memory_snapshot(logs, file, since, limit)

    @_answering
    def timeline(
        run: Run = None,
        worker: Worker = None,
        span: Span = None,
        step: Annotated[str | None, Field(description="Name of a step; default: the first one.")] = None,
        start_ms: Annotated[
            float | None, Field(description="Start of a window of time, from the beginning of the recording.")
        ] = None,
        end_ms: Annotated[
            float | None, Field(description="End of the window; both times are given in place of a step.")
        ] = None,
        limit: Limit = 40,
    ) -> contract.Window:
        """The events that cover most of a step, or of a window of time. Reads the trace, which may take seconds."""
        return answers.window(logs, SpanChoice(run, worker, span), step, (start_ms, end_ms), limit)

    return [kernels, operators, source_lines, blocking_calls, memory, memory_fit, memory_snapshot, timeline]


def _definitions() -> Callable[..., str]:
    @_answering
    def definitions(
        metrics: Annotated[list[str] | None, Field(description="Ids of metrics; default: all of them.")] = None,
    ) -> contract.Definitions:
        """What the metrics mean and what unit they have."""
        return answers.definitions(metrics or [])

    return definitions


#: Makes requests run one after another, since they share a cache.
_ONE_AT_A_TIME = threading.Lock()


def _answering(answer: Callable[P, msgspec.Struct]) -> Callable[P, str]:
    """Makes a tool return JSON text. A RefusalError becomes an error of the tool with the same message."""

    @functools.wraps(answer)
    def text(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            with _ONE_AT_A_TIME:
                return msgspec.json.encode(answer(*args, **kwargs)).decode()
        except RefusalError as refusal:
            raise ToolError(str(refusal)) from refusal

    return text
