"""All programs of the laboratory. Importing this package fills `PROGRAMS`, always in the same order."""

from benchmarks.laboratory.programs import loading, loops, optimizing, computing, healthy, jobs, needless, settings  # noqa: F401, I001
