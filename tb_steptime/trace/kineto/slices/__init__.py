"""Some steps of a trace file -> a separate trace file, with every event exactly as written.

plan   the wanted steps -> which parts of a file belong to them
rows   events as bytes
file   the same file with only these events
"""
