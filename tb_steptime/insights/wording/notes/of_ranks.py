"""Notes on the ranks of a job."""

from __future__ import annotations

from tb_steptime.insights.base import NoteWords

RANK_NOTES: dict[str, NoteWords] = {
    "ranks_missing": NoteWords(
        "[{count}] of {all} ranks (was|were) not recorded at this time.",
        "What (it|they) did is not known: a rank that makes the others wait may be (it|among them).",
    ),
    "ranks_twice": NoteWords(
        "[{count}] (rank has|ranks have) several recordings of this time.",
        "The one with most steps counts. Are these different jobs in one folder?",
    ),
    "ranks_not_computed": NoteWords(
        "Steps or collectives of [{count}] of {all} ranks could not be computed: an analysis failed on (its file|their "
        "files).",
        "What (it does|they do) in them is not known; the figures of the others are valid.",
    ),
    "ranks_cut_short": NoteWords(
        "The files of [{count}] of {all} ranks end before the recording does.",
        "Steps and collectives after the cut are missing on (it|them).",
    ),
    "ranks_with_other_steps": NoteWords(
        "[{count}] of {all} ranks (lacks|lack) steps that others recorded.",
        "Collectives are matched in the steps that all ranks of their group recorded.",
    ),
    "collectives_unlike": NoteWords(
        "[{count}] of {all} collectives differ from rank to rank in order, kind or size, or some rank lacks (it|them).",
        "(It is|They are) in no figure of transfers, waits and late ranks.",
    ),
    "ranks_number_steps_differently": NoteWords(
        "Ranks number their steps differently: [{count}] (collective|collectives) of the same step and host (does|do) "
        "not run at the same time.",
        "(It is|They are) not matched, and steps of one number may not be the same step. Start the profiler on all "
        "ranks at the same step.",
    ),
    "collectives_alone": NoteWords(
        "[{count}] (collective is|collectives are) of groups with one recorded rank, or whose name others may have.",
        "What (it waits|they wait) for is not known.",
    ),
    "collectives_stalled": NoteWords(
        "[{count}] {kind} (call takes|calls take) {beyond} longer on all ranks than the others, which take {usual}.",
        "No rank is late for (it|them). (It moves|They move) more bytes or (waits|wait) for something, which the sizes "
        "would show. No card promises a gain.",
    ),
    "links_not_read": NoteWords(
        "The peak rates of links in TB_STEPTIME_LINKS cannot be read.",
        "Bandwidths are not compared with any peak. Write `machine=450 network=50`, in GB/s of each GPU in one "
        "direction.",
    ),
    "collectives_of_some_steps": NoteWords(
        "Collectives of [{count}] of {all} steps are matched over ranks.",
        "Waits and transfers cover these steps alone.",
        more="Where there are very many, the first steps are kept, and steps in which ranks differ are left out.",
    ),
}
