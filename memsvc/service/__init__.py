"""The verbs: one way in, one writer, one reader."""
