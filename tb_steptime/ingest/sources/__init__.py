"""The text of the source files that a recording names, as the recorder stored it, or from folders that the user names.

Decisions and their reasons:

- Only files that the recording itself names are given, by these names: a request names no path.
- Of a folder nothing outside it is read, and no link in it is followed. Whoever may write to the log directory chooses
  names, and must not choose which file is shown.
- What a file holds is compared with what was recorded: a function that is not at its line means another version of the
  file, and then no line of it is marked (`functions`).
"""

from tb_steptime.ingest.sources.text import VARIABLE, SourceText, source_text, text_at, user_folders

__all__ = ["VARIABLE", "SourceText", "source_text", "text_at", "user_folders"]
