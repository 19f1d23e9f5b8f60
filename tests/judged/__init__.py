"""The labelled corpus: jobs, and what an experienced performance engineer says of each from its raw events.

    labels.py    what a label says, in a line or two each
    found.py     what the package says of a recording, as far as labels speak of it
    scores.py    the two beside each other: verdicts, cards that are missing, cards that should not be there
    corpus.py    all labels with their recordings
    report.py    how often each card is right; `python -m tests.judged` prints it, and writes it into docs/judgement.md
    world.py     other people's jobs with an expert's judgements, which are counted apart
    variants.py  recordings rewritten in ways that change nothing about the job
    stability.py what is concluded otherwise of these
    conclusions.py  every conclusion on every recording at hand, and which of them moved since
    not_yet.py   what is known to be wrong still: those tests have to fail, and say so when they no longer do
    jobs/        the labels, by kind of job

A label is written from the raw events of a trace, or from what a simulated job declares, and never from what the
package says of it.
"""
