"""Whether a text says again, in other words, what was rejected."""
