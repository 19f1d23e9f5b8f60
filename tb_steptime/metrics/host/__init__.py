"""What blocks or occupies the CPU: blocking calls, copies, CPU ops, and the ranges in which they occur.

Decisions and their reasons:

- If a card is based on a CPU op, the op counts with its lower median over the steps, because another process that takes
  the core for 10 ms can make a square root the longest op of a step.
"""
