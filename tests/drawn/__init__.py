"""What several tests draw their input with. No test module imports another one.

timeline        a trace from lines of text, one sign a cell of time; columns: a trace from columns
small_trace     a trace file of a few steps, for stores and commands
loader_calls    iterators of loaders that are marked; loader_waits: steps that wait, drawn or simulated
recorder_files  a recorder's files row by row; journals: their headers; recorded: what real workers recorded
op_rows, event_columns, host_result, cards, stores   what is there, as tests ask for it
real_traces     the real traces, each read once in a process
demo            the demo recordings with their summaries
machine         what a machine may lack: a browser, the time to measure with care
"""
