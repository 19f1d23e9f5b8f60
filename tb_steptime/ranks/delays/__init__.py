"""Who makes the others wait by more than chance, alone or together with others, and why."""
