"""Runs one memsvc command after the other in one process, as a shell would in one each.

Reads argument lists as lines of JSON, and answers each with its exit status and its two streams.
Usage: python -m tests.invariants.commands
"""

import contextlib
import io
import json
import sys

from memsvc.__main__ import main

__all__ = ["serve"]


def run(arguments: list[str]) -> tuple[int, str, str]:
    """What the command `memsvc ARGUMENTS` would end with and write."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    sys.argv = ["memsvc", *arguments]
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    texts = [one.buffer.getvalue().decode() for one in (out, err)]
    return code, texts[0], texts[1]


def serve() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
