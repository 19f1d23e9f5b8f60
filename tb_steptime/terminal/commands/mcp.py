"""`tb-steptime mcp LOGDIR`: the tab's figures for a coding agent."""

from __future__ import annotations

import argparse

from tb_steptime.files.paths import any_path
from tb_steptime.terminal.commands.base import Command, refused


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="LOGDIR", type=any_path, help="a log directory")


def _run(options: argparse.Namespace) -> int:
    if not options.path.is_dir():
        return refused(f"{options.path}: This is no folder. Name a log directory.")
    try:
        from tb_steptime.terminal.agent.server import serve
    except ModuleNotFoundError as missing:
        if not missing.name or missing.name.partition(".")[0] not in ("mcp", "pydantic"):
            raise
        return refused("The MCP SDK is not installed: pip install 'tb-steptime[mcp]'")
    serve(options.path)
    return 0


COMMAND = Command(
    "mcp",
    "answer a coding agent",
    "Serve the recordings of a log directory to a coding agent, over MCP on stdin and stdout: list runs, summarize "
    "one, compare two, kernels, ops, blocking calls, memory, events of a window, meanings of metrics. Needs the extra "
    "[mcp].",
    _add_arguments,
    _run,
)
