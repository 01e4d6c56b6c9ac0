"""Writes one generated vault: `python -m bench.generate --seed 3 --pool tune --out DIR`."""

import argparse
from collections import Counter
from pathlib import Path

from bench.generate.build import build, write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.generate", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pool", choices=("tune", "held_out"), required=True)
    parser.add_argument("--world", default="", help="one of the pool's; else the seed chooses")
    parser.add_argument("--size", type=int, default=0, help="notes, about; else the seed chooses")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    generated = build(asked.seed, pool=asked.pool, world=asked.world, size=asked.size)
    write(generated, asked.out)
    classes = Counter(question.cls for question in generated.questions)
    print(f"{generated.world}: {len(generated.files)} notes, {dict(classes)}")


if __name__ == "__main__":
    main()
