"""What the name of a kernel shows: its function, a short form, whether it exchanges data, whether it multiplies on
tensor cores, how it loads its operands. A new family of a library is added here and nowhere else.

Demangling stays in `trace.mangled`: the reader does it once for each file, before any other module sees a name, and
`trace` imports nothing of `metrics`.
"""
