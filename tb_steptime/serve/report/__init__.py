"""A report: one page with the tab and all its answers, which a browser opens from a file."""

from tb_steptime.serve.report.besides import Besides, Included, held_besides
from tb_steptime.serve.report.page import DOCTYPE, NoProgramError, report_file, report_page
from tb_steptime.serve.report.recorded import IncludedAnswers, can_be_tried, recorded

__all__ = [
    "DOCTYPE",
    "Besides",
    "Included",
    "IncludedAnswers",
    "NoProgramError",
    "can_be_tried",
    "held_besides",
    "recorded",
    "report_file",
    "report_page",
]
