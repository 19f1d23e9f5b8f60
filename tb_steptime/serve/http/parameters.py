"""What a request asks for, in its parameters and its one header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from werkzeug import Request

#: Only requests with this header begin work. Another site's page can make a browser send a GET, but cannot add a custom
#: header to it, so only our tab can begin work.
WORK_HEADER = "X-Tb-Steptime"
#: At most 18 digits, which always fit into 63 bits: 30 years in ns.
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


class BadRequest(ValueError):
    """A parameter that is missing or makes no sense."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"The parameter `{key}` {why}")


def may_work(request: Request) -> bool:
    return request.headers.get(WORK_HEADER) == "1"


def is_folded(request: Request) -> bool:
    """Whether Python stacks are folded to the user's code."""
    return request.args.get("frames") == "own"


def whole_number(request: Request, key: str) -> int:
    """Raises BadRequest. Times of a trace fit in 63 bits, and their differences too."""
    written = request.args.get(key, "")
    if not _WHOLE_NUMBER.fullmatch(written):
        raise BadRequest(key, "must be a whole number")
    return int(written)


def number_if_named(request: Request, key: str) -> int | None:
    """None where the request does not name it. Raises BadRequest."""
    return whole_number(request, key) if key in request.args else None


def window(request: Request) -> tuple[int, int]:
    """Raises BadRequest."""
    start, end = (whole_number(request, key) for key in ("from", "to"))
    if start >= end:
        raise BadRequest("from", "must be less than to")
    return start, end
