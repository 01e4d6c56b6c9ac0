"""`python -m bench.memory_bench`."""

import sys

from bench.memory_bench.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
