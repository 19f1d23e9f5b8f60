"""The ranks of a job: its page, and any metric of it by rank and step."""

from tb_steptime.serve.ranks.asked import Ranks

__all__ = ["Ranks"]
