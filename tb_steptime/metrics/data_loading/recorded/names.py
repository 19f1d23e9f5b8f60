"""One name for a loader, whoever knows of it: the trace, in whose table of loaders it is, or a recorder, which counts.

table of loaders     Evaluation loader   Training loader                     in order of first wait
recorder's numbers   2                   1                 3                 in order of watching
name                 Evaluation loader   Training loader   Recorded loader   no wait of the span is for it
"""

from __future__ import annotations

from tb_steptime.metrics.data_loading.loaders import find_batches, in_a_sentence, judged_loader, label_of, waited_for
from tb_steptime.text import Phrase, count, phrase
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace


def loader_names(trace: Trace, records: LoaderRecords) -> dict[int, Phrase]:
    """The name of each recorded loader by its recorder's number, in the order in which loaders are shown: as in the
    table of loaders, then those that are not in it, whose names no row of the table has."""
    recorded = {each.loader for each in records.loaders}
    names = {each.recorded: label_of(each) for each in find_batches(trace).loaders if each.recorded is not None}
    met = {number: label for number, label in names.items() if number in recorded}
    return met | _apart(sorted(recorded - met.keys()))


def _apart(numbers: list[int]) -> dict[int, Phrase]:
    """
    >>> {number: label.template for number, label in _apart([3]).items()}
    {3: 'Recorded loader'}
    """
    if len(numbers) == 1:
        return {numbers[0]: phrase("Recorded loader")}
    return {number: phrase("Recorded loader {place}", place=count(place)) for place, number in enumerate(numbers, 1)}


def recorded_loader(trace: Trace, names: dict[int, Phrase], main: int) -> Phrase | None:
    """Which of several loaders the recorded figures are of, inside a sentence, with why where the trace's waits are for
    it, too; None where there is no other. main: its recorder's number."""
    judged = waited_for(trace)
    if judged is not None and judged.recorded == main and len(find_batches(trace).loaders) > 1:
        return judged_loader(trace)
    several = len(names) > 1 or len(find_batches(trace).loaders) > 1
    return in_a_sentence(names[main]) if several else None
