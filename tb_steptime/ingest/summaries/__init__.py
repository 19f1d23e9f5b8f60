"""The summary file next to a trace: what was measured, so that a directory opens at once, even without its traces."""

from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.ingest.summaries.reading import DamagedSummary, fresh_summary, read_summary, summary_of, whole

__all__ = ["SUFFIX", "DamagedSummary", "fresh_summary", "read_summary", "summary_of", "whole"]
