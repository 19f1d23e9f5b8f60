"""Who makes the others wait by more than chance, alone or together with others, and why.

Decisions and their reasons:

- A straggler is the same rank, by about as much, in most steps; ranks that take turns are an imbalance. With two ranks
  and five steps, one of them is last in all steps by chance once in sixteen. So the cost has to be similar in all
  steps, too: with noise alone, 46 % of jobs with three steps of two ranks had a straggler before, 1 % since
  (`ranks/delays/late.py`). Where ranks share cores, the others are sometimes late too; then the rank's excess time
  has to be similar. The first step is ignored for both: in it ranks wait for each other's profiler.
- Ranks that are late together are one finding. On a late host, it is chance which rank is the last. All of a host, or
  the ranks below the largest gap in what ranks wait, are late together if most waits of the others end with one of
  them, and each of them hardly waits itself. Half of the ranks count as late only if they are a host: otherwise the
  other half might as well be early.
- The cost of a late rank is the shortest wait for it, since without its delay the next to last rank would decide. Waits
  for several simultaneous collectives count once, as exposed time does.
"""
