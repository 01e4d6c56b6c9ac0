"""The `memsvc` command; `mcp` starts without the rest of the command line, since clients wait for it."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from memsvc.interfaces.cli.app import run  # after start, so that `python -m` errors stay short

    run(sys.argv[1:])


if __name__ == "__main__":
    main()
