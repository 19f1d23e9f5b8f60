"""One module per command; COMMANDS lists them in the order of `tb-steptime --help`."""

from __future__ import annotations

from tb_steptime.terminal.commands import (
    compare,
    explain,
    export,
    fit,
    hang,
    index,
    kernels,
    lines,
    mcp,
    operators,
    ranks,
    report,
    slice_trace,
    snapshot,
    summarize,
    whatif,
)
from tb_steptime.terminal.commands.base import Command

COMMANDS: tuple[Command, ...] = (
    summarize.COMMAND,
    kernels.COMMAND,
    operators.COMMAND,
    lines.COMMAND,
    ranks.COMMAND,
    explain.COMMAND,
    whatif.COMMAND,
    fit.COMMAND,
    snapshot.COMMAND,
    hang.COMMAND,
    compare.COMMAND,
    index.COMMAND,
    report.COMMAND,
    slice_trace.COMMAND,
    export.COMMAND,
    mcp.COMMAND,
)
