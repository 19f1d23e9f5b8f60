"""The cost of each op, module and line of the user's code, on the host and on the device.

Decisions and their reasons:

- An op counts once in each row around it (`metrics/operators/op_tree.py`), however often the row is nested in itself,
  so a total is never more than the time that its ops cover. An overload that only calls another is one call. The ops of
  the backward pass can belong to the op that created them. That op is then their parent in the same tree, and nothing
  else changes in the sums.
- Ops belong to the step whose host mark contains their begin, not to its window on the device: a host that runs ahead
  is in the next step while the device is still in this one.
- Work without a launch belongs to the step that the device is in. Work launched before the recording still runs while
  the host is already in the first step: 32 ms on an MI300. So the work of ops plus the work that no op launched equals,
  in whole nanoseconds, the kernels, copies and memsets that begin in the steps
  (`tests/unit/insights/test_one_value.py`, all real traces).
- The repeated forward pass of a checkpoint is a call of its module, although nothing encloses it on the engine's
  thread: names number the instances of modules, so a name that occurs at one place of the tree identifies that module.
"""
