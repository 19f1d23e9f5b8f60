"""What is measured inside a DataLoader and its workers."""
