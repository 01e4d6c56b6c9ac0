"""Who may see and write what, as values that prove it."""
