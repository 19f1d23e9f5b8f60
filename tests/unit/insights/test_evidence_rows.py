"""The row that a card links to exists in the table that the card names."""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.analyses.tensor_cores import DeviceSplit
from tb_steptime.insights import judge
from tb_steptime.insights.base import EvidenceRow
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import row_of_op
from tests.drawn.cards import analysed, judged
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline


def _split(facts: Facts) -> DeviceSplit:
    split = facts.kernel_split
    assert split is not None
    return split


def _kernels(facts: Facts) -> list[str]:
    assert facts.gpu is not None
    rows = [row for each in facts.gpu.devices for table in each.tables if table.by == "name" for row in table.rows]
    return [row.name for row in rows] + [row.name for row in _split(facts).kernels]


def _rates(facts: Facts) -> list[str]:
    rates = _split(facts).rates
    return [row_of_op("", row.site.op, row.site.shapes).key for row in rates.rows] if rates else []


#: For each table, the keys of its rows, as the tables of the tab have them.
KEYS: dict[str, Callable[[Facts], list[str]]] = {
    "sites": lambda facts: [row.site for row in facts.host.sites],
    "blocking": lambda facts: [str(row.worst_start_ns) for row in facts.host.blocking],
    "pauses": lambda facts: [str(row.worst_start_ns) for row in facts.host.pauses],
    "slow": lambda facts: [row.step for row in facts.host.grown],
    "cpu_ops": lambda facts: [row.op for row in facts.host.cpu.ops] if facts.host.cpu else [],
    "waits": lambda facts: [row.name for row in facts.data_loading.steps],
    "kernels": _kernels,
    "could": lambda facts: [row_of_op("", row.op, row.shapes).key for row in _split(facts).opportunities],
    "rates": _rates,
}


@on_real_traces
def test_on_real_traces_the_row_of_a_card_is_there(name: str):
    trace = read_real(name)
    results = analysed(trace)
    facts = Facts(results)
    for insight in judge(results).insights:
        if insight.row is not None:
            assert insight.row.key in KEYS[insight.row.table](facts), insight.id


def test_a_card_about_launches_leads_to_their_place():
    trace = timeline(f"""
        step     | {"".join(str(n) * 12 for n in range(4))} |
        op       | {"aaaaaaaaaaaa" * 4} |
        runtime  | {"klmnopqrstuv" * 4} |
        kernel 7 | {".klmnopqrstu" * 4} |""", cell_ns=200)  # fmt: skip
    rows = [insight.row for insight in judged(trace).insights if insight.id == "launch_graphs"]
    assert rows == [EvidenceRow("sites", "forward.model")]
