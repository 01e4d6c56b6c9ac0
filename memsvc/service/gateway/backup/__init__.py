"""Backups: taken while agents write, and brought back through the gateway."""
