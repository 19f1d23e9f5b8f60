"""Scalars of a log directory without a running TensorBoard: through a data provider of its own."""

from __future__ import annotations

from pathlib import Path

from tb_steptime.files.paths import AnyPath
from tb_steptime.serve.scalars.reading import JobScalars


def scalars_of(folder: AnyPath) -> JobScalars | None:
    """None where the folder holds no event file, so that TensorBoard's reader, which takes long to import, is not
    imported. None for a folder in an object store, too."""
    if not isinstance(folder, Path) or next(folder.rglob("*tfevents*"), None) is None:
        return None
    from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
    from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return JobScalars(MultiplexerDataProvider(multiplexer, str(folder)), {})
