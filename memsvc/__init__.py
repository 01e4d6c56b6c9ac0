"""Memory for coding agents: notes as markdown files, governed by a ledger."""

__version__ = "0.1.0"
__all__ = ["__version__"]
