"""How recall holds up at 100,000 and 1,000,000 passages: latency, memory, bytes, agreement.

Usage: python -m bench.scale [--passages 100000 1000000] [--queries 100] [--json FILE]

Notes of made-up words (their frequencies fall off as in natural text) with clustered unit vectors
go in through the index writer, in ten projects; the questions through the product's own recall.
No model runs: a question's vector is that of a passage, disturbed. Agreement compares the first ten
with what comparing every passage and looking up every word gives.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from memsvc.clock import SystemClock
from memsvc.database import Database
from memsvc.embedding.protocol import Embedder, Reading
from memsvc.index import reader, schema, vectors, writer
from memsvc.index.chunks import chunk
from memsvc.index.values import IndexEntry, PassageVector
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.requests import RecallRequest
from memsvc.model.vocabulary import NoteId, PrincipalKind, ProjectSlug, VaultName
from memsvc.scope.proof import ReadScope, stamp_of
from memsvc.service.recall import Recall

__all__ = ["build", "main", "measure", "run", "show"]

DIMENSION = 384
PROJECTS = 10
WORDS = 60_000
CLUSTERS = 4_000
TOKENS = 40
MODEL = "clusters@1"
VAULT = VaultName("scale")
BATCH = 200


def main() -> None:
    arguments = _arguments()
    if arguments.home:  # one size, in a process of its own
        print(json.dumps(measure(Path(arguments.home), arguments.queries)))
        return
    run(
        arguments.passages,
        queries=arguments.queries,
        keep=arguments.keep,
        json_file=arguments.json,
    )


def run(sizes: Sequence[int], *, queries: int = 100, keep: str = "", json_file: str = "") -> None:
    """Measure each number of passages; a table on stderr, and the rows as JSON in a file."""
    rows = [_row(size, queries, keep=keep) for size in sizes]
    show(rows)
    if json_file:
        Path(json_file).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows as a table."""
    table = Table(title="memsvc at scale (ms: p50 / p95)")
    table.add_column("measure")
    for row in rows:
        table.add_column(f"{row['passages']:,} passages", justify="right")
    for key in rows[0]:
        if key != "passages":
            table.add_row(key, *(str(row[key]) for row in rows))
    Console(stderr=True, width=120).print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--json", default="", help="also write the result to this file")
    parser.add_argument("--keep", default="", help="use the homes in this folder, and keep them")
    parser.add_argument("--home", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def _row(size: int, queries: int, *, keep: str) -> dict[str, Any]:
    folder = Path(keep) / str(size) if keep else Path(tempfile.mkdtemp(prefix="memsvc-scale-"))
    try:
        row: dict[str, Any] = {"passages": size}
        if not (folder / "questions.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            row |= build(folder, size, questions=queries)
        command = [sys.executable, "-m", "bench.scale", "--home", str(folder)]
        done = subprocess.run(
            [*command, "--queries", str(queries)], check=True, capture_output=True, text=True
        )
        return row | dict(json.loads(done.stdout))
    finally:
        if not keep:
            shutil.rmtree(folder)


class _Model:
    """Gives each question the vector that was prepared for it."""

    model_id = MODEL
    dimension = DIMENSION
    state, problem = "ready", ""

    def __init__(self, prepared: dict[str, list[float]]) -> None:
        self._prepared = prepared

    def ready(self) -> Embedder | None:
        return self  # type: ignore[return-value] # only questions are embedded here

    def read_query(self, text: str) -> Reading:
        vector = np.array(self._prepared[text], dtype=np.float32)
        spans = tuple(match.span() for match in re.finditer(r"\w+", text))
        noise = np.random.default_rng(len(text)).standard_normal((len(spans), DIMENSION))
        return Reading(vector, _unit(vector + 0.05 * noise), spans)

    def count_tokens(self, text: str) -> int:
        return len(text) // 4


def build(folder: Path, size: int, *, questions: int) -> dict[str, Any]:
    """An index of about `size` passages, and questions about some of them, in a folder."""
    chance = np.random.default_rng(20261130)
    words = _vocabulary(chance)
    odds = 1.0 / (np.arange(WORDS) + 2.7) ** 1.05
    odds /= odds.sum()
    centres = _unit(chance.standard_normal((CLUSTERS, DIMENSION)))
    database = Database(folder / "memsvc.db")
    with database.write() as connection:
        schema.ensure(connection)
    asked: dict[str, list[float]] = {}
    made, number, cpu = 0, 0, time.process_time()
    every = max(1, size // (questions * 4))
    while made < size:
        entries, matrices = [], []
        for _ in range(BATCH):
            body = _body(chance, words, odds)
            entry = _entry(number, body)
            count = len(chunk(body, entry.title))
            cluster = centres[chance.integers(CLUSTERS)]
            matrix = _unit(cluster + 0.055 * chance.standard_normal((count, DIMENSION)))
            entries.append(entry)
            matrices.append(matrix)
            if made // every != (made + count) // every and len(asked) < questions:
                rare = chance.choice(sorted(set(body.split()), key=len)[-12:], 3)
                text = " ".join([*rare, *chance.choice(body.split(), 2)])
                near = _unit(matrix[:1] + 0.045 * chance.standard_normal((1, DIMENSION)))
                asked[text] = near[0].tolist()
            made += count
            number += 1
        with database.write(durable=False) as connection:
            writer.put_all(
                connection,
                [
                    writer.Put(entry, dict(enumerate(map(_given, matrix))), MODEL)
                    for entry, matrix in zip(entries, matrices, strict=True)
                ],
            )
    spent = time.process_time() - cpu
    database.close()
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
    return {"notes": number, "indexing, passages a CPU second": round(made / spent)}


def _given(vector: NDArray[np.float32]) -> PassageVector:
    """A passage of two sentences and 40 tokens that are all much like the whole."""
    row = np.rint(vector / np.abs(vector).max() * 127).astype(np.int8).tobytes()
    bits = np.packbits(vector > 0).tobytes()
    return PassageVector(vector, struct.pack("<HH", 3, TOKENS) + 3 * row + TOKENS * bits)


def _vocabulary(chance: np.random.Generator) -> list[str]:
    """Words of two to five syllables, the frequent ones short."""
    parts = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    made: dict[str, None] = {}
    while len(made) < WORDS:
        length = 2 + (len(made) > 400) + (len(made) > 8_000) + int(chance.integers(2))
        made["".join(chance.choice(parts, length)) + "x"] = None  # no English ending
    return list(made)


def _body(chance: np.random.Generator, words: list[str], odds: NDArray[np.floating]) -> str:
    paragraphs = 1 + int(chance.geometric(0.3))
    picked = chance.choice(WORDS, (paragraphs, 36), p=odds)
    return "\n\n".join(" ".join(words[word] for word in row) for row in picked)


def _entry(number: int, body: str) -> IndexEntry:
    scope = Scope(VAULT, ProjectSlug(f"p{number % PROJECTS}"))
    return IndexEntry(
        note_id=NoteId(f"N{number:025}"),
        version=1,
        scope=scope,
        path=f"{scope.project}/{number}.md",
        title=" ".join(body.split()[:4]),
        body=body,
        recorded_from="2026-01-01T00:00:00.000000Z",
        updated="2026-01-01T00:00:00.000000Z",
    )


def _unit(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.asarray(matrix / np.linalg.norm(matrix, axis=-1, keepdims=True), dtype=np.float32)


def _reading(*projects: int) -> ReadScope:
    caller = Caller(Principal(PrincipalKind.AGENT, "bench"), VAULT, ProjectSlug("p0"))
    scopes = tuple(Scope(VAULT, ProjectSlug(f"p{number}")) for number in projects)
    return ReadScope(scopes, caller, stamp_of("memsvc.scope.policy"))


def measure(folder: Path, queries: int) -> dict[str, Any]:
    """All measures of a built index, by a process that has read nothing of it."""
    asked = json.loads((folder / "questions.json").read_text("utf-8"))
    database = Database(folder / "memsvc.db")
    recall = Recall(database=database, embedder=_Model(asked), clock=SystemClock())
    texts = list(asked)[:queries]
    row: dict[str, Any] = {}
    for name, scope in (("10 % scope", _reading(0)), ("full scope", _reading(*range(PROJECTS)))):
        row[f"{name}: a process's first recall, ms"] = _pair([_one(recall, scope, texts[0])])
        row[f"{name}: recall, ms"] = _timed(recall, scope, texts)
        row[f"{name}: the same again, ms"] = _timed(recall, scope, texts)
        row[f"{name}: after a save, ms"] = _after_saves(recall, scope, database, texts)
    row["RSS, MB: all / without mapped files"] = _memory()
    full = _reading(*range(PROJECTS))
    row["full scope: first ten as when all is compared"] = _agreement(recall, full, texts)
    row["database MB"] = round((folder / "memsvc.db").stat().st_size / 1e6, 1)
    used = sum(file.stat().st_blocks * 512 for file in (folder / "vectors").iterdir())
    row["vectors MB"] = round(used / 1e6, 1)
    database.close()
    return row


def _timed(recall: Recall, scope: ReadScope, texts: Sequence[str]) -> str:
    return _pair([_one(recall, scope, text) for text in texts])


def _one(recall: Recall, scope: ReadScope, text: str) -> tuple[float, float]:
    """Milliseconds on the clock and of the processor."""
    begun, cpu = time.perf_counter(), time.process_time()
    recall.recall(scope, RecallRequest(query=text))
    return (time.perf_counter() - begun) * 1000, (time.process_time() - cpu) * 1000


def _after_saves(recall: Recall, scope: ReadScope, database: Database, texts: Sequence[str]) -> str:
    """Recall right after another note of the scope changed, as after each save."""
    took = []
    for number, text in enumerate(texts[:12]):
        entry = _entry(10**9 + PROJECTS * number, f"a note saved between two questions {number}")
        with database.write(durable=False) as connection:
            writer.put(connection, entry)
        took.append(_one(recall, scope, text))
    return _pair(took)


def _agreement(recall: Recall, scope: ReadScope, texts: Sequence[str]) -> float:
    """The share of the first ten that are the same when nothing is left out."""
    texts = texts[:30]

    def ask() -> list[set[str]]:
        request = [RecallRequest(query=text, k=10, budget=8_000) for text in texts]
        return [{hit.id for hit in recall.recall(scope, one).hits} for one in request]

    quick = ask()
    kept = vectors.EXACT, reader.COMMON
    vectors.EXACT, reader.COMMON = 10**9, 1
    try:
        full = ask()
    finally:
        vectors.EXACT, reader.COMMON = kept
    return round(
        statistics.mean(
            len(one & other) / max(1, len(other)) for one, other in zip(quick, full, strict=True)
        ),
        4,
    )


def _pair(took: Sequence[tuple[float, float]]) -> str:
    """On the clock, and of the processor: what other work on the machine does not change."""
    clock, cpu = (sorted(column) for column in zip(*took, strict=True))
    last = int(len(clock) * 0.95)
    return (
        f"{statistics.median(clock):.0f} / {clock[last]:.0f}; "
        f"CPU {statistics.median(cpu):.0f} / {cpu[last]:.0f}"
    )


def _memory() -> str:
    status = Path(f"/proc/{os.getpid()}/status").read_text("utf-8")
    found = {line.split()[0]: int(line.split()[1]) for line in status.splitlines() if "kB" in line}
    return f"{found['VmRSS:'] / 1000:.0f} / {found['RssAnon:'] / 1000:.0f}"


if __name__ == "__main__":
    main()
