"""The guarantees that memsvc gives; each has at least one test marked with its id."""

__all__ = ["GUARANTEES", "LATER"]

GUARANTEES = {
    "S1": "a note of one scope is never returned under another, by any arm",
    "S2": "a caller cannot widen its scope by any argument; refusals say the same words",
    "S3": "background work keeps the same boundary",
    "S4": "results are checked against the caller's scope once more on the way out",
    "S5": "a write names exactly one destination, shown in the reply",
    "W1": "one gateway: a policy-breaking write is refused or withheld through every door, on record",
    "W2": "actor, kind and trust come from the connection",
    "W3": "mutation, version, tombstones and event commit together or not at all",
    "W4": "an acknowledged write survives kill -9 and is recalled by the next call",
    "W5": "two writers never lose an update",
    "W6": "no file changes unless a verb asked for it, and then only what it asked",
    "C1": "a rejected claim does not come back",
    "C2": "a tombstone blocks in its own scope only, and no neighbour",
    "C3": "a retraction needs no replacement",
    "C4": "a superseded note never appears as current; its successor does",
    "C5": "purge removes every byte of a note's text, keeps hashes, and says what is out of reach",
    "C6": "only a reviewer lifts a tombstone, on record",
    "A1": "every mutation, refusal and failure is one append-only event",
    "A2": "events form a hash chain that shows what was edited, removed, inserted or cut off",
    "A3": "no event holds the text of a note",
    "R1": "k and the token budget are upper bounds, envelope included",
    "R2": "recalled text is fenced as data; nothing inside closes the fence",
    "R3": "a reply says what it covered",
    "R4": "every statement resolves to a note id, a version and its provenance",
    "R5": "a rebuilt index gives the same answers",
}

LATER: dict[str, str] = {}
