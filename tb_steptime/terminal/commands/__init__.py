"""The commands, by what they print or write; COMMANDS lists them in the order of `tb-steptime --help`."""

from __future__ import annotations

from tb_steptime.terminal.commands import (
    cards,
    compare,
    files,
    hang,
    mcp,
    memory,
    ranks,
    summarize,
    tables,
)
from tb_steptime.terminal.commands.base import Command

COMMANDS: tuple[Command, ...] = (
    summarize.COMMAND,
    *tables.COMMANDS,
    ranks.COMMAND,
    *cards.COMMANDS,
    *memory.COMMANDS,
    hang.COMMAND,
    compare.COMMAND,
    *files.COMMANDS,
    mcp.COMMAND,
)
