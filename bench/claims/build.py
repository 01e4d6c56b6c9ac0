"""Writes `restated.jsonl`: each claim in two dresses and in one of several together.

Usage: python -m bench.claims.build
"""

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from itertools import cycle

from bench.claims.attacks import ATTACKS, COMBINED, dress, suits
from bench.claims.data import FOLDER, Restated, rows

__all__ = ["SEED", "made", "main"]

SEED = 20261130
SINGLE = 2
TRIES = 20


def made() -> list[Restated]:
    """The dressed claims; the same ones at every run."""
    turn = cycle(ATTACKS)
    return [one for number, row in enumerate(rows()) for one in _dressed(row.claim, number, turn)]


def _dressed(claim: str, number: int, turn: Iterator[str]) -> Iterator[Restated]:
    chance = random.Random(SEED + number)
    wanted: list[str] = []
    while len(wanted) < SINGLE:
        attack = next(turn)
        if suits(attack, claim) and attack not in wanted:
            wanted.append(attack)
    if suits(COMBINED, claim):
        wanted.append(COMBINED)
    for attack in wanted:
        tries = (dress(attack, claim, chance) for _ in range(TRIES))
        body = next((one for one in tries if one != claim), "")
        if body:  # chance may leave every letter as it was, or there is none to change
            yield Restated(claim, attack, body)


def main() -> None:
    """Write the file anew."""
    lines = (json.dumps(asdict(one), ensure_ascii=False) for one in made())
    (FOLDER / "restated.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
