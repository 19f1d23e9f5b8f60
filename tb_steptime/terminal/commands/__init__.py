"""The commands, by what they print or write; COMMANDS lists them in the order of `tb-steptime --help`."""

from __future__ import annotations

from tb_steptime.terminal.commands import cards, compare, files, jobs, mcp, memory, summarize, tables
from tb_steptime.terminal.commands.base import Command

COMMANDS: tuple[Command, ...] = (
    summarize.COMMAND,
    *tables.COMMANDS,
    jobs.RANKS,
    *cards.COMMANDS,
    *memory.COMMANDS,
    jobs.HANG,
    compare.COMMAND,
    *files.COMMANDS,
    mcp.COMMAND,
)
