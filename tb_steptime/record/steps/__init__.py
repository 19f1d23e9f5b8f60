"""Every step of a job, timed at next to no cost: which were slow, and when a span is worth recording.

- `torch.profiler` sees ten steps; what happens once an hour is in none of them. Reading two clocks a step costs a
  microsecond or two, so it is done for all.
- A step ends where `step()` is called and the next begins where that returns: what the profiler and the recorder do in
  between belongs to neither.
- Waits such as `.item()` are not timed by themselves: torch offers no hook that compiled code would survive. What the
  thread spent off the CPU, less its waits for batches, has them where the driver sleeps; where it spins it is CPU time.
- No limit knows every job. A slow step takes three times the usual; a change is as Trends has it, three robust
  deviations of medians. Both are rationed: a job whose steps differ anyway is not recorded for ever.
"""
