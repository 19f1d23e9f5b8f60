"""Some steps of a trace file -> a trace file of their own, with every event as it is spelled.

plan   the steps that are wanted -> what of a file belongs to them
rows   events as bytes
file   the same file with these alone
"""
