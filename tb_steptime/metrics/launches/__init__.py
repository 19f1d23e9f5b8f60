"""How far the host is ahead of the device: the launch queue, and run-ahead by place and step."""
