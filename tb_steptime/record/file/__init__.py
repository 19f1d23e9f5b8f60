"""The recorder's file: a fixed beginning and a ring of rows."""

#: Ends of the names of files that record a process of a DataLoader, and of files that time steps. Who only looks for
#: such files needs nothing else of them.
LOADER_SUFFIX, STEPS_SUFFIX = ".loader", ".steps"
