"""The batch sizes that fit: how the memory of a recording would grow with its batch.

Every allocation of a steady step either keeps its size at another batch, or grows in proportion to it. The result of an
op on a tensor with the batch in its shape grows, unless its size is that of a parameter. Parameters, gradients and
optimizer state keep their sizes. Each instant of the step is then a linear function of the batch, and the peak is the
highest of these lines.

    bytes |        / activations at the end of the forward pass
          |  ____/____ temporaries of the optimizer
          |    /
          +-------------- batch

`benchmarks/memory_fit.py` measures this: it records models at one batch and runs them at five others.
"""
