"""What stops the CPU: blocking calls, copies, and the ranges that they happen in.

Decisions and their reasons:

- A CPU op counts with its lower median over the steps where a card rests on it: another process that takes the core
  for 10 ms makes a square root the longest op of a step.
"""
