"""A home as one verified archive, and back."""
