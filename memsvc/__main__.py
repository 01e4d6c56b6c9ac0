"""The `memsvc` command; `mcp` starts without the rest of the command line, since clients wait for it."""

import gc
import os
import sys

__all__ = ["main"]

_ALLOCATIONS = 50_000


def main() -> None:
    """Run the command line."""
    # The products of a recall are small: threads for them cost four times their time when several
    # processes share the cores. Read by numpy's library when it is imported, which is later.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Fewer collections while thousands of objects are loaded for good: a fifth off the start.
    gc.set_threshold(_ALLOCATIONS, 20, 100)
    arguments = sys.argv[1:]
    if arguments[:1] == ["mcp"]:
        from memsvc.interfaces.mcp.start import plain_options, serve  # only for this command

        given = plain_options(arguments[1:])
        if given is not None:
            serve(given)
            return
    from memsvc.interfaces.cli.app import run  # after start, so that `python -m` errors stay short

    run(arguments)


if __name__ == "__main__":
    main()
