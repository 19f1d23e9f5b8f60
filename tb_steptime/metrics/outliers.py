"""How much steps vary: their median, and which ones stand out."""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.table import Bool, Float64, Int64
from tb_steptime.trace.table import median as median

#: Modified z-score beyond which a value is an outlier (Iglewicz and Hoaglin, 1993).
OUTLIER_Z = 3.5
#: A slow step takes at least this much longer than the median. Steps of one loop vary by some percent on any machine,
#: and among steps that agree to a microsecond any other one would stand out.
SLOW_FRACTION = 0.10
#: Factors that make the median absolute deviation, and the mean one, comparable to the standard deviation of normal
#: values.
MAD_SCALE, MEAN_AD_SCALE = 1.4826, 1.2533
#: With fewer values than this, median and outliers cannot be separated.
ENOUGH_STEPS = 4


def robust_deviation(values: Int64 | Float64) -> float:
    """The median absolute deviation, scaled to a standard deviation of normal values."""
    return float(MAD_SCALE * median(np.abs(values - median(values))))


def modified_z(values: Int64 | Float64) -> Float64:
    """Distance from the median in robust standard deviations; zeros where all values agree."""
    distance = values - median(values)
    spread = robust_deviation(values)
    if spread == 0:
        spread = MEAN_AD_SCALE * np.mean(np.abs(distance))
    return np.zeros(len(values)) if spread == 0 else np.asarray(distance / spread, np.float64)


def slow(values: Int64 | Float64) -> Bool:
    """Which values are outliers above the rest, and at least a tenth above the median; none if there are too few."""
    if len(values) < ENOUGH_STEPS:
        return np.zeros(len(values), bool)
    usual = median(values)
    result: Bool = (modified_z(values) > OUTLIER_Z) & (values - usual >= SLOW_FRACTION * usual)
    return result
