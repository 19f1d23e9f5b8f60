"""Times every step of a job at next to no cost, to find slow steps and moments that are worth a recorded span.

- `torch.profiler` sees ten steps; what happens once an hour is in none of them. Reading two clocks per step costs a
  microsecond or two, so it is done for all steps.
- A step ends where `step()` is called and the next begins where that returns: what the profiler and the recorder do in
  between belongs to neither.
- Waits such as `.item()` are not timed by themselves: torch offers no hook that compiled code would survive. They are
  part of the thread's time off the CPU, without its waits for batches, if the driver sleeps; if the driver spins, they
  are CPU time.
- No fixed limit suits every job. A slow step takes three times the usual time; a change is defined as in Trends, three
  robust deviations of medians. Recording for either is rationed, so that a job whose steps always differ is not
  recorded for ever.
"""
