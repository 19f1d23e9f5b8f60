"""What stops the CPU: blocking calls, copies, and the ranges that they happen in."""
