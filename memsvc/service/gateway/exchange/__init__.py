"""Foreign records, each a write of its own."""
