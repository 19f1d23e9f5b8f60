"""Notes on the recorder's files."""

from __future__ import annotations

from tb_steptime.insights.wording.notes.words import NoteWords

RECORDER_NOTES: dict[str, NoteWords] = {
    "recorder_file_unreadable": NoteWords(
        "A recorder file cannot be read.",
        "Files left out: {files}, for example {file}. The copy is damaged, or another version of tb-steptime wrote it.",
    ),
    "recorder_file_unfinished": NoteWords(
        "A recorder file holds nothing yet.",
        "Files left out: {files}. The process has just created them, or was killed or had no disk space as it started.",
    ),
    "recorder_file_damaged": NoteWords(
        "A recorder file is damaged.",
        "{lost} of it cannot be read and are left out. The rest is valid.",
    ),
    "worker_killed": NoteWords(
        "A worker process was killed.",
        "Workers that did not exit normally: {killed}. Their last batches may be missing. Was memory short?",
    ),
    "recorder_ended_early": NoteWords(
        "The recorder files end before this span does.",
        "Steps without recorded batches: {missing}. Was the disk full, or the recorder closed too early?",
    ),
    "recorder_worker_missing": NoteWords(
        "A worker's recorder file is missing or incomplete.",
        "How {missing} of {batches} batches were produced is not recorded; means are over the others.",
    ),
    "recorder_main_missing": NoteWords(
        "The main process's recorder file is missing.",
        "Which steps received the batches that the workers produced is not known. Copy the file {code}, too.",
        code="*.main.loader",
    ),
    "recorder_of_several_machines": NoteWords(
        "Recorder files of several machines have the same process ID.",
        "Which of them belong to this trace is not known, so {files} are left out. Keep the trace's name as torch "
        "writes it: it begins with the machine's.",
    ),
    "recorder_not_then": NoteWords(
        "The recorder files do not cover this span.",
        "They are of this process, but of another time.",
    ),
    "recorder_full": NoteWords(
        "A recorder file was full.",
        "Batches of this span are missing: the first ones of the job and the latest are kept.",
    ),
    "clock_step": NoteWords(
        "The machine's clock was set during the recording.",
        "Batches before or after that may be missing, or be shifted against the steps.",
    ),
}
