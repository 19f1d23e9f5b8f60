"""What each op, module and line of the user's code costs, on the host and on the device.

Decisions and their reasons:

- An op counts once in each row around it (`metrics/operators/op_tree.py`), however often the row is within itself, so
  a total is never more than the time that its ops cover. An overload that only calls another is one call. What the
  backward pass runs can belong to the op that made it: then that op is its parent in the same tree, and nothing else
  of the sums changes.
- Ops belong to the step whose mark holds their begin, not to its window on the device: a host that runs ahead is in
  the next step while the device is in this one.
- Work without a launch belongs to the step that the device is in. What was launched before the recording runs while
  the host is in the first step already: 32 ms on an MI300. So what ops launched and what no op launched are, in whole
  nanoseconds, the kernels, copies and sets that begin in the steps (`tests/unit/insights/test_one_value.py`, all real
  traces).
- A second pass of a checkpoint is a call of its module, although nothing is around it on the thread of the engine:
  names number the instances of modules, so a name that stands in one place of the tree is that module.
"""
