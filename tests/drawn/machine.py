"""What a machine may lack, a browser or the time to measure carefully: such skips are counted in the closing lines."""

from __future__ import annotations

from typing import NoReturn

import pytest

#: Why a browser test is skipped; in CI it fails instead.
NO_BROWSER = "no Chromium or Chrome on PATH and none named in CHROMIUM; install one (Debian: apt-get install chromium)"

#: The beginning of the reason of every such skip.
BUSY = "the machine was busy"


def skip_busy(why: str) -> NoReturn:
    pytest.skip(f"{BUSY}: {why}")
