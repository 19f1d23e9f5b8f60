"""The kind of job: its device and ranks, how its work is launched, whether it trains, and what server runs it."""
