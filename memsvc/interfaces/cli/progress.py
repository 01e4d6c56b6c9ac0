"""A progress bar on standard error, where that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, str], None] | None]:
    """A function that takes done, total and what is being done; None when nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # only a terminal needs it
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def show(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total or None, description=what or title)

        yield show
