"""What a request asks for, in its parameters and its one header; and its answer as an HTTP response: JSON, a script or
font of the tab, or a file to download.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from werkzeug import Request, Response

#: Smaller answers travel in one packet anyway.
_GZIP_FROM_BYTES = 1_400

_JSON = "application/json; charset=utf-8"
_JAVASCRIPT = "text/javascript; charset=utf-8"
_FONT = "font/woff2"
#: Keeps browsers from guessing a type other than the declared one.
_NO_GUESS = {"X-Content-Type-Options": "nosniff"}
#: Content types of files to download, by file name suffix.
_FILES = {".gz": "application/gzip", ".html": "text/html; charset=utf-8", ".pftrace": "application/octet-stream"}


@dataclass(frozen=True)
class Answer:
    """What a route answers. content: a wire type, the bytes of a script or font, or an open file; name: of an open
    file, the name under which it is saved. etag: set where there is a better one than the hash of the content. is_font:
    the bytes are a font's."""

    content: Any
    status: int = 200
    etag: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    name: str = ""
    is_font: bool = False

    @property
    def content_type(self) -> str:
        if not isinstance(self.content, bytes):
            return _JSON
        return _FONT if self.is_font else _JAVASCRIPT


@functools.cache
def _response_type() -> type[Response]:
    from werkzeug import Response

    class TypedResponse(Response):
        """Sends the content type with unchanged answers (304), too: TensorBoard expects one on every response, and
        logs a warning where it is missing."""

        def get_wsgi_headers(self, environ: Any) -> Any:
            headers = super().get_wsgi_headers(environ)
            headers.setdefault("Content-Type", self.headers["Content-Type"])
            return headers

    return TypedResponse


def respond(request: Request, answer: Answer) -> Response:
    return _file(request, answer) if answer.name else _content(request, answer)


def _content(request: Request, answer: Answer) -> Response:
    from tb_steptime.serve.wire import encode

    if answer.etag and request.if_none_match.contains_weak(answer.etag):
        return _not_modified(answer)
    content = answer.content if isinstance(answer.content, bytes) else encode(answer.content)
    response = _response_type()(content, answer.status, {**_NO_GUESS, **answer.headers})
    response.headers["Content-Type"] = answer.content_type
    etag = answer.etag or (hashlib.blake2b(content, digest_size=8).hexdigest() if answer.status == 200 else None)
    response.headers.setdefault("Cache-Control", "no-cache" if etag else "no-store")
    response.headers["Vary"] = "Accept-Encoding"
    unchanged = etag is not None and request.if_none_match.contains_weak(etag)
    large = len(content) >= _GZIP_FROM_BYTES and not answer.is_font  # a font is compressed already
    if not unchanged and large and request.accept_encodings["gzip"]:
        response.set_data(_packed(content))
        response.headers["Content-Encoding"] = "gzip"
    if etag:
        response.set_etag(etag, weak=True)
        response.make_conditional(request)
    return response


def _not_modified(answer: Answer) -> Response:
    """The browser has the content already, so nothing is encoded: the index of many spans is requested
    repeatedly."""
    typed = {"Content-Type": answer.content_type, **_NO_GUESS}
    headers = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding", **typed, **answer.headers}
    response = _response_type()(b"", 304, headers)
    assert answer.etag
    response.set_etag(answer.etag, weak=True)
    return response


def _file(request: Request, answer: Answer) -> Response:
    """Streams the file, and closes it afterwards."""
    from werkzeug.wsgi import wrap_file

    headers = {
        "Content-Type": _FILES[os.path.splitext(answer.name)[1]],
        "Content-Length": str(os.fstat(answer.content.fileno()).st_size),
        "Content-Disposition": f'attachment; filename="{answer.name}"',
        "Content-Security-Policy": "default-src 'none'",  # it is to be saved; its own policy is in it
        "Cache-Control": "no-store",
        **_NO_GUESS,
    }
    return _response_type()(wrap_file(request.environ, answer.content), answer.status, headers, direct_passthrough=True)


def _packed(content: bytes) -> bytes:
    """Compresses many times faster than the standard library, with a slightly larger result, which matters little:
    most browsers are on the same machine."""
    from tb_steptime.files.packing import pack

    return pack(content)


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
    """Returns whether Python stacks are folded to the user's code."""
    return request.args.get("frames") == "own"


def whole_number(request: Request, key: str) -> int:
    """Raises BadRequest. Times of a trace fit in 63 bits, and their differences too."""
    written = request.args.get(key, "")
    if not _WHOLE_NUMBER.fullmatch(written):
        raise BadRequest(key, "must be a whole number")
    return int(written)


def number_if_named(request: Request, key: str) -> int | None:
    """Returns the number in the request; None where the request does not name it. Raises BadRequest."""
    return whole_number(request, key) if key in request.args else None


def window(request: Request) -> tuple[int, int]:
    """Raises BadRequest."""
    start, end = (whole_number(request, key) for key in ("from", "to"))
    if start >= end:
        raise BadRequest("from", "must be less than to")
    return start, end
