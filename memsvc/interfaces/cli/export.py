"""Writes audit events as JSON lines or CSV, to standard output or to a file that appears whole."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TextIO

from memsvc.errors import InvalidInput
from memsvc.model.replies import EventView, as_data
from memsvc.ops.whole import appearing

__all__ = ["FORMATS", "cell", "destination", "write_events"]

FORMATS = ("jsonl", "csv")

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
"""What makes a spreadsheet take a cell for a formula, wide forms included, and our own mark."""
_COLUMNS = tuple(field.name for field in fields(EventView))


def write_events(events: Iterable[EventView], stream: TextIO, *, form: str) -> int:
    """Write the events one by one; how many. `form` is one of FORMATS."""
    write = _csv_writer(stream) if form == "csv" else _json_writer(stream)
    count = 0
    for event in events:
        write(event)
        count += 1
    return count


def cell(text: str) -> str:
    """A text as a CSV cell that no spreadsheet runs.

    Taking one apostrophe off the front of every cell that begins with one gives the text back.
    """
    return f"'{text}" if text.lstrip(" ").startswith(_DANGEROUS) else text


@contextmanager
def destination(path: str, *, replace: bool) -> Iterator[TextIO]:
    """Standard output, or with a path a file that takes its place when the block ends well.

    Raises InvalidInput when the file is there and must not be replaced, StorageFailed.
    """
    if not path:
        yield sys.stdout
        return
    target = Path(path).expanduser().absolute()
    with appearing(
        target, lambda: _check_free(target, replace=replace), errors="backslashreplace"
    ) as file:
        yield file


def _check_free(target: Path, *, replace: bool) -> None:
    if target.is_dir():
        raise InvalidInput("--to names a file, and that is a folder", argument="to")
    if target.exists() and not replace:
        raise InvalidInput(f"{target.name} is there already; add --replace", argument="to")


def _json_writer(stream: TextIO) -> Callable[[EventView], None]:
    def write(event: EventView) -> None:
        stream.write(json.dumps(as_data(event), ensure_ascii=False) + "\n")

    return write


def _csv_writer(stream: TextIO) -> Callable[[EventView], None]:
    rows = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    rows.writerow(_COLUMNS)

    def write(event: EventView) -> None:
        values = (getattr(event, name) for name in _COLUMNS)
        rows.writerow(value if isinstance(value, int) else cell(_text(value)) for value in values)

    return write


def _text(value: object) -> str:
    """A field as its event holds it: text as it is, the detail as the JSON that was hashed."""
    return (
        value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    )
