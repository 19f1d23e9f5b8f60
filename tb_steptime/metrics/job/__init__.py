"""What kind of job a recording is of: training or inference, how its work is launched, on what, in how many ranks."""
