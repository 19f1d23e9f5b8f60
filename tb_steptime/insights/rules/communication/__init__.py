"""Cards about ranks that exchange data while nothing computes."""
