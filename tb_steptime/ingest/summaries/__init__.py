"""The summary file next to a trace: what was measured, so that a directory opens at once, even without its traces.

Decisions and their reasons:

A summary is fresh (`ingest/summaries/layout.py`) while it has this release's format and definitions, the peak rates
that the user gave, the size and both ends of the trace file, and the recorder's files that are there now. Equal
modification times only save reading these ends: a clone or a copy has other times, and then the contents decide.
`DEFINITIONS` (`ingest/summaries/layout.py`) is a number that is raised with every change after which a recording gives
another result. Up to 0.2.0 a hash of the code that measures stood in its place. Nobody could forget to change it, but
even an edited comment made every summary stale: each new release, and each clone of the demo, read all traces again.
Now a test finds a forgotten change: `tests/project/test_demo_summaries.py` measures the recordings of the demo and
compares every field with the committed summaries, and `make demo-summaries` refuses to write other figures under the
same number. A change that affects no recording of the demo is not found. A summary in which an analysis failed is fresh
for its own release only, since the next one may have fixed the analysis.

Nothing that is committed changes unless the user asks for it. Next to a trace that is under version control, a new or a
replaced summary would be a change that nobody made: where git tracks either file, the tab writes to the user's cache,
as it does for folders that are read-only. `tb-steptime index` writes beside the trace, since that is what it is asked
for. A folder that merely lies in a repository is no reason: logs usually lie in one, ignored by git or not added, and
there summaries go beside their traces. Whether git tracks a file is read from its index (`files/version_control.py`).
Git itself is not run: training containers have none, or one that refuses another user's folder, and a folder from
elsewhere may name programs in its settings that git would run. Where tracking cannot be determined (Mercurial,
Subversion, Jujutsu without git, an index of version 4), the cache is used.

A summary is passed on, so it names no machine and holds no whole path (`ingest/private_paths.py`). Paths are shortened
in the text of the results, after everything was grouped by whole names, and before the command line prints them: so a
summary and its trace show the same text. Afterwards nobody knows a job's working tree. So the tree is taken to be the
outermost folder that directly holds a file of the recording; what is above it is never shown. A folder right below the
root does not count, since several users may share it.
"""

from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.ingest.summaries.reading import DamagedSummary, fresh_summary, read_summary, summary_of, whole

__all__ = ["SUFFIX", "DamagedSummary", "fresh_summary", "read_summary", "summary_of", "whole"]
