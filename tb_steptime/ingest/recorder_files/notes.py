"""The sentences of the notes on a recorder's files."""

from __future__ import annotations

from tb_steptime.text import Note, Quantity, phrase

#: id -> what is the case, and which figures it touches or what to do.
_SENTENCES = {
    "recorder_file_empty": (
        "A recorder file is empty.",
        "Empty files: {files}, for example {file}. The process was killed as it started, or the disk was full.",
    ),
    "recorder_file_unreadable": (
        "A recorder file cannot be read.",
        "Files left out: {files}, for example {file}. Copy them again, or record with this version of tb-steptime.",
    ),
    "recorder_file_damaged": (
        "A recorder file is damaged.",
        "{lost} of it cannot be read and are left out. The rest is valid.",
    ),
    "worker_killed": (
        "A worker process was killed.",
        "Workers that did not exit normally: {killed}. Their last batches may be missing. Was memory short?",
    ),
    "recorder_ended_early": (
        "The recorder files end before this span does.",
        "Steps without recorded batches: {missing}. Was the disk full, or the recorder closed too early?",
    ),
    "recorder_worker_missing": (
        "A worker's recorder file is missing or incomplete.",
        "How {missing} of {batches} batches were produced is not recorded; means are over the others.",
    ),
    "recorder_main_missing": (
        "The training process's recorder file is missing.",
        "Which steps received the batches that the workers produced is not known. Copy the file *.main.loader, too.",
    ),
    "recorder_of_another_run": (
        "This folder holds recorder files of another run.",
        "Files left out: {files}. A log directory for each run keeps them separate.",
    ),
    "recorder_of_several_machines": (
        "Recorder files of several machines have the same process ID.",
        "Which of them belong to this trace is not known, so {files} are left out. Keep the trace's name as torch "
        "writes it: it begins with the machine's.",
    ),
    "recorder_not_then": (
        "The recorder files do not cover this span.",
        "They are of this process, but of another time.",
    ),
    "recorder_full": (
        "A recorder file was full.",
        "Batches of this span are missing: the first ones of the job and the latest are kept.",
    ),
    "clock_step": (
        "The machine's clock was set during the recording.",
        "Batches before or after that may be missing, or be shifted against the steps.",
    ),
}  # fmt: skip


def note(id: str, **values: Quantity) -> Note:
    cause, effect = _SENTENCES[id]
    return Note(id, phrase(cause, **values), phrase(effect, **values), ("data_loading",))
