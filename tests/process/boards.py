"""TensorBoard as its command line creates it, with only our plugin and its own plugins, called without a server."""

from __future__ import annotations

from tensorboard import default, program
from tensorboard.backend import application
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from werkzeug.test import Client

from tb_steptime.plugin import StepTimePlugin

PREFIX = "/data/plugin/tb_steptime/"
WORK = {"X-Tb-Steptime": "1"}


def tensorboard(*flags: str) -> Client:
    """A client of this TensorBoard."""
    board = program.TensorBoard(plugins=[*default.get_static_plugins(), StepTimePlugin])
    board.configure(("tensorboard", *flags))
    events = EventMultiplexer()
    if board.flags.logdir:
        events.AddRunsFromDirectory(board.flags.logdir).Reload()
    scalars = MultiplexerDataProvider(events, board.flags.logdir)
    return Client(application.TensorBoardWSGIApp(board.flags, board.plugin_loaders, scalars))
