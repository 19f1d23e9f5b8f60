"""The job's own scalars (loss, throughput) of the same log directory, as TensorBoard's data provider has them."""

from tb_steptime.serve.scalars.answers import Scalars, ScalarSeries
from tb_steptime.serve.scalars.reading import JobScalars

__all__ = ["JobScalars", "ScalarSeries", "Scalars"]
