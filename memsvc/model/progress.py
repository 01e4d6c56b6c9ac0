"""How long work tells how far it is."""

from collections.abc import Callable

__all__ = ["Progress", "tell"]

Progress = Callable[[int, int, str], None]
"""Called with done, total and what is being done."""


def tell(progress: Progress | None, done: int, total: int, what: str, *, every: int = 1) -> None:
    """Say how far the work is, now and then and at its end, if anybody wants to know."""
    if progress is not None and (done == total or done % every == 0):
        progress(done, total, what)
