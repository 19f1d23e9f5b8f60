"""Who makes the others wait by more than chance, alone or together with others, and why.

Decisions and their reasons:

- A straggler is the same rank, by about as much, in most steps; ranks that take turns are an imbalance. Of five steps
  of two ranks, one is last in all by chance once in sixteen; so what it costs has to be alike, too: of noise alone 46
  % of jobs with three steps of two ranks had a straggler before, 1 % since (`ranks/delays/steady.py`). Where ranks
  share cores, the others are late too now and then: then it is what takes the rank longer that has to be alike. The
  first step counts for neither: in it ranks wait for each other's profiler.
- Ranks that are late together are one finding. Of a late host each rank is the last by chance. All of a host, or the
  ranks below the largest gap in what ranks wait, are late together where most waits of the others end with one of
  them, and each of them hardly waits itself. Half of the ranks are that only as a host: else it could as well be the
  others that are early.
- What a late rank costs is the least that any other waits for it, since with it in time the next to last decides.
  Waits of several collectives at once count once, as exposed time does, and not once for each.
"""
