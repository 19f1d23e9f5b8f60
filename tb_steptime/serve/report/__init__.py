"""A report: one page with the tab and all its answers, which a browser opens from a file."""

from tb_steptime.serve.report.events import held_events
from tb_steptime.serve.report.page import DOCTYPE, NoProgramError, report_file, report_page
from tb_steptime.serve.report.recorded import recorded

__all__ = ["DOCTYPE", "NoProgramError", "held_events", "recorded", "report_file", "report_page"]
