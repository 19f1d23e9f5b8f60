"""The TypeScript types of everything that the front end reads (the server's answers and the contents of a report), and
the constants that both sides share.

`python -m tb_steptime.serve.api` prints `frontend/src/api.gen.ts`.
"""

from __future__ import annotations

from tb_steptime.comparison.comparison import MOST_IN_CHAIN
from tb_steptime.serve.report.extras import IncludedEvents, IncludedFlames
from tb_steptime.serve.report.included import IncludedAnswers
from tb_steptime.serve.wire import constant, typescript


def api() -> str:
    """Returns the whole of `frontend/src/api.gen.ts`."""
    return (
        typescript(file_types=(IncludedAnswers, IncludedEvents, IncludedFlames))
        + "\n"
        + constant("MOST_IN_CHAIN", MOST_IN_CHAIN)
    )


if __name__ == "__main__":
    print(api(), end="")  # noqa: T201 - the one module whose output is source text
