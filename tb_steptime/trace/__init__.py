"""A trace in columns, and the facts read off them: steps, ops, launches, intervals."""
