"""What each op, module and line of the user's code costs, on the host and on the device."""
