"""How many there are of something, in words for a person."""

__all__ = ["counted"]


def counted(number: int, what: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
