"""The committed statements: what is rejected, how it is tried again, and what must still be taken.

`statements.jsonl` was written by hand, a claim a line: `neighbour` is a statement that must be
taken although the claim is rejected, `kind` what sets it apart, `paraphrase` says the claim in
other words, `part` is the half a guard may be tuned on or the other. `restated.jsonl` holds the
claims in dresses, made once by `python -m bench.claims.build`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FOLDER", "HELD_OUT", "TUNE", "Restated", "Row", "restated", "rows"]

FOLDER = Path(__file__).parents[1] / "data" / "claims"
TUNE, HELD_OUT = "tune", "held-out"


@dataclass(frozen=True, slots=True)
class Row:
    """One rejected claim with its neighbour; paraphrase and part are empty for some."""

    claim: str
    neighbour: str
    kind: str
    paraphrase: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class Restated:
    """One body that states a claim again, and the attack that dressed it."""

    claim: str
    attack: str
    body: str


def rows() -> list[Row]:
    """Every claim in the order of the file."""
    lines = (FOLDER / "statements.jsonl").read_text("utf-8").splitlines()
    return [Row(**json.loads(line)) for line in lines]


def restated() -> list[Restated]:
    """Every dressed claim in the order of the file."""
    lines = (FOLDER / "restated.jsonl").read_text("utf-8").splitlines()
    return [Restated(**json.loads(line)) for line in lines]
