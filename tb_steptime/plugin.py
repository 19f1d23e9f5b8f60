"""The routes of the Step Insights tab: parse a request, ask the store, respond.

TensorBoard imports this module when it starts, and an ImportError here would stop it for the user: everything beyond
the standard library and TensorBoard's own base is imported when it is first needed.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

from tb_steptime.serve.responses import (
    WORK_HEADER,
    Answer,
    BadRequest,
    is_folded,
    may_work,
    number_if_named,
    respond,
    whole_number,
    window,
)

if TYPE_CHECKING:
    from werkzeug import Request

    from tb_steptime.serve.store import Store

logger = logging.getLogger(__name__)

#: How long the question whether the plugin is active may wait for the very first scan: TensorBoard asks every plugin in
#: turn before it draws.
_ACTIVE_PATIENCE_SECONDS = 0.5

#: Cache-Control header with the seconds of a year. Private, because a proxy must not decide who may reach a
#: TensorBoard.
_FOR_EVER = "private, max-age=31536000, immutable"

_Wsgi = Callable[[Any, Any], Iterable[bytes]]


class StepTimePlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """Serves the routes that `wire.py` lists. Every route is a GET; nothing here changes what the user recorded."""

    plugin_name = "tb_steptime"

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        self._context = context

    @functools.cached_property
    def store(self) -> Store:
        from tb_steptime.ingest.names import parse_places
        from tb_steptime.serve.store import Store

        spec = getattr(self._context.flags, "logdir_spec", "") or ""
        return Store(parse_places(self._context.logdir or "", spec))

    def get_plugin_apps(self) -> dict[str, _Wsgi]:
        self.store.get_ready()  # so that the first page is ready when it is requested
        routes = {
            "/index": self._index,
            "/catalogue": self._catalogue,
            "/opening": self._opening,
            "/view": self._view,
            "/trends": self._trends,
            "/series": self._series,
            "/ranks": self._ranks,
            "/rank_map": self._rank_map,
            "/job_timeline": self._job_timeline,
            "/scalars": self._scalars,
            "/job_steps": self._job_steps,
            "/compare": self._compare,
            "/chain": self._chain,
            "/runs": self._runs,
            "/timeline": self._timeline,
            "/busy": self._busy,
            "/memory": self._memory,
            "/snapshot": self._snapshot,
            "/flame": self._flame,
            "/source": self._source,
            "/event": self._event,
            "/search": self._search,
            "/slice": self._slice,
            "/report": self._report,
            "/retry": self._retry,
            "/index.js": self._bundle,
            "/parts/*": self._part,
        }
        return {path: _application(route) for path, route in routes.items()}

    def is_active(self) -> bool:
        return self.store.directory.has_spans(_ACTIVE_PATIENCE_SECONDS)

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Step Insights")

    def data_plugin_names(self) -> tuple[str, ...]:
        return ()  # we read trace files, not event files

    def _index(self, request: Request) -> Answer:
        index = self.store.index(work=may_work(request))
        return Answer(index, etag=index.version)

    def _catalogue(self, request: Request) -> Answer:
        from tb_steptime.serve.catalogue import catalogue

        return Answer(catalogue())

    def _opening(self, request: Request) -> Answer:
        from tb_steptime.serve.store import Address, version_of

        address = Address(*(request.args.get(key, "") for key in ("run", "worker", "number", "steps")))
        opening = self.store.opening(address, request.args.get("view", ""), work=may_work(request))
        return Answer(opening, etag=version_of(opening))

    def _view(self, request: Request) -> Answer:
        span, view = request.args.get("span", ""), request.args.get("view", "")
        return _now_or_later(self.store.page(span, view, work=may_work(request)))

    def _trends(self, request: Request) -> Answer:
        from tb_steptime.serve.served import SpanNames
        from tb_steptime.serve.trends import TrendsRequest

        named = SpanNames(*(request.args.getlist(key) for key in ("run", "worker", "span")))
        trends_request = TrendsRequest(
            request.args.get("focus"), request.args.getlist("metric"), number_if_named(request, "strips")
        )
        return Answer(self.store.trends(named, trends_request, work=may_work(request)))

    def _series(self, request: Request) -> Answer:
        from tb_steptime.serve.served import SpanNames

        named = SpanNames(request.args.getlist("run"))
        return Answer(self.store.series(named, request.args.get("metric", "")))

    def _ranks(self, request: Request) -> Answer:
        return Answer(self.store.ranks.page(request.args.get("span", ""), work=may_work(request)))

    def _rank_map(self, request: Request) -> Answer:
        return Answer(self.store.ranks.map(request.args.get("span", ""), request.args.get("metric", "")))

    def _job_timeline(self, request: Request) -> Answer:
        between = window(request) if "from" in request.args else None
        span, step = (request.args.get(key, "") for key in ("span", "step"))
        return Answer(self.store.ranks.timeline(span, step, between, whole_number(request, "bins")))

    def _scalars(self, request: Request) -> Answer:
        from tb_steptime.serve.scalars import JobScalars

        runs = [entry.name for entry in self.store.index(work=False).runs]
        scalars = JobScalars(getattr(self._context, "data_provider", None), request.environ)
        return Answer(scalars.read(request.args.get("run", ""), runs, request.args.get("tag")))

    def _job_steps(self, request: Request) -> Answer:
        return Answer(self.store.job_steps(request.args.get("run", "")))

    def _compare(self, request: Request) -> Answer:
        base, candidate = request.args.get("base", ""), request.args.get("candidate", "")
        return _now_or_later(self.store.compare(base, candidate, work=may_work(request)))

    def _chain(self, request: Request) -> Answer:
        from tb_steptime.serve.served import SpanNames

        runs, order = (request.args.getlist(key) for key in ("run", "order"))
        return Answer(self.store.chain(SpanNames(runs), order, work=may_work(request)))

    def _runs(self, request: Request) -> Answer:
        return Answer(self.store.runs(work=may_work(request)))

    def _timeline(self, request: Request) -> Answer:
        between, detail = window(request), whole_number(request, "detail")
        span, folded = request.args.get("span", ""), is_folded(request)
        return _now_or_later(self.store.timeline(span, between, detail, folded=folded, work=may_work(request)))

    def _busy(self, request: Request) -> Answer:
        (start, end), bins = window(request), whole_number(request, "bins")
        return _now_or_later(self.store.busy(request.args.get("span", ""), start, end, bins, work=may_work(request)))

    def _memory(self, request: Request) -> Answer:
        from tb_steptime.timeline.memory import MemoryRequest

        device, bins = (whole_number(request, key) for key in ("device", "bins"))
        memory_request = MemoryRequest(device, window(request), bins, number_if_named(request, "at"))
        return _now_or_later(self.store.memory(request.args.get("span", ""), memory_request, work=may_work(request)))

    def _snapshot(self, request: Request) -> Answer:
        from tb_steptime.serve.snapshots import SnapshotRequest

        device, bins = (whole_number(request, key) for key in ("device", "bins"))
        if device < 0:
            raise BadRequest("device", "must not be less than 0")
        between = window(request) if "from" in request.args else None
        at, since = number_if_named(request, "at"), request.args.get("since", "")
        snapshot_request = SnapshotRequest(request.args.get("id", ""), device, between, bins, at, since)
        return _now_or_later(self.store.snapshot(snapshot_request, work=may_work(request)))

    def _flame(self, request: Request) -> Answer:
        span, by, where = (request.args.get(key, "") for key in ("span", "by", "where"))
        return _now_or_later(self.store.flame(span, by, where, work=may_work(request)))

    def _source(self, request: Request) -> Answer:
        span, file = request.args.get("span", ""), request.args.get("file", "")
        return _now_or_later(self.store.source(span, file, work=may_work(request)))

    def _event(self, request: Request) -> Answer:
        number = whole_number(request, "event")
        span, folded = request.args.get("span", ""), is_folded(request)
        return _now_or_later(self.store.event(span, number, folded=folded, work=may_work(request)))

    def _search(self, request: Request) -> Answer:
        from tb_steptime.timeline.search import Search

        first, track = (number_if_named(request, key) for key in ("first", "track"))
        text, start = request.args.get("words", ""), whole_number(request, "from")
        search = Search(text, start, first, track, is_folded(request))
        return _now_or_later(self.store.search(request.args.get("span", ""), search, work=may_work(request)))

    def _slice(self, request: Request) -> Answer:
        from tb_steptime.serve.wire import Waiting

        first, last = whole_number(request, "first"), whole_number(request, "last")
        if not 0 <= first <= last:
            raise BadRequest("last", "must not be less than first, and neither less than 0")
        cut = self.store.step_slice(request.args.get("span", ""), (first, last), work=may_work(request))
        return Answer(cut, 202) if isinstance(cut, Waiting) else Answer(cut.file, name=cut.name)

    def _report(self, request: Request) -> Answer:
        if not may_work(request):
            return _without_header()
        from tb_steptime.serve.report.included import Place
        from tb_steptime.serve.report.page import report_file
        from tb_steptime.serve.scalars import JobScalars

        scalars = JobScalars(getattr(self._context, "data_provider", None), request.environ)
        compared = (request.args.get("base", ""), request.args.get("candidate", ""))
        address = dict(zip(request.args.getlist("key"), request.args.getlist("value"), strict=False))
        place = Place(address, compared if all(compared) else None)
        return Answer(report_file(self.store, scalars, place), name="report.html")

    def _retry(self, request: Request) -> Answer:
        if not may_work(request):
            return _without_header()
        return Answer(self.store.retry(request.args.get("span", "")), 202)

    def _bundle(self, request: Request) -> Answer:
        from tb_steptime.serve.bundle import entry

        return Answer(entry(self._opening_at_hand()))

    def _opening_at_hand(self) -> bytes | None:
        """Returns the first page's data, if possible. The script is sent in any case: without the data, the tab
        requests it and gets the error."""
        try:
            return self.store.opening_at_hand()
        except Exception:
            logger.exception("tb_steptime could not send its first page along")
            return None

    def _part(self, request: Request) -> Answer:
        """Serves a part of the tab. Its name holds the hash of its content, so a cached copy is valid for ever."""
        from tb_steptime.serve.bundle import FONT_SUFFIX, PARTS, part

        name = request.path.partition(f"/{self.plugin_name}/{PARTS}/")[2]
        content = part(name)
        if content is None:
            return _problem(404, "There is no such part of the tab", "Reload the page.")
        is_font = name.endswith(FONT_SUFFIX)
        return Answer(content, etag=name, headers={"Cache-Control": _FOR_EVER}, is_font=is_font)


def _without_header() -> Answer:
    return _problem(403, "This request begins work and lacks its header", f"Send {WORK_HEADER}: 1.")


def _now_or_later(content: Any) -> Answer:
    from tb_steptime.serve.wire import Waiting

    return Answer(content, 202 if isinstance(content, Waiting) else 200)


def _problem(status: int, problem: str, hint: str) -> Answer:
    from tb_steptime.ingest.states import Problem

    return Answer(Problem(problem, "", hint), status)


def _application(route: Callable[[Request], Answer]) -> _Wsgi:
    """A WSGI application around a route, which never answers with a traceback."""

    def application(environ: Any, start_response: Any) -> Iterable[bytes]:
        from werkzeug import Request

        request = Request(environ)
        return respond(request, _answer(route, request))(environ, start_response)

    return application


def _answer(route: Callable[[Request], Answer], request: Request) -> Answer:
    from tb_steptime.serve.served import SpanFailed, UnknownDevice, UnknownEvent, UnknownSpan

    if request.method not in ("GET", "HEAD"):
        refusal = _problem(405, "Only GET is answered here", "Reload the page.")
        return Answer(refusal.content, 405, headers={"Allow": "GET, HEAD"})
    try:
        return route(request)
    except UnknownSpan:
        return _problem(404, "There is no such span or view", "It may have been moved or deleted. Choose another one.")
    except UnknownDevice:
        return _problem(
            404, "This span has no memory of such a device", "Choose one of those that the Memory view shows."
        )
    except UnknownEvent:
        return _problem(404, "There is no such event in this span", "Choose one in the timeline.")
    except BadRequest as error:
        return _problem(400, str(error), "Reload the page.")
    except SpanFailed as error:
        return Answer(error.problem, 422)
    except Exception:  # last resort: the error is logged, and the tab keeps working
        logger.exception("tb_steptime could not answer %s", request.path)
        hint = "TensorBoard's log has the details; please report it with them."
        return _problem(500, "Something went wrong inside Step Insights", hint)
