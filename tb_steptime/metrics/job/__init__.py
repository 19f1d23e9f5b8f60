"""The kind of job that was recorded: training or inference, how its work is launched, on which device, in how many
ranks."""
