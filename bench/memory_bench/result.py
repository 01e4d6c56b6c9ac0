"""The result file: made from what was returned, checked against the data, compared with a rerun.

Its form is memory-bench/result@1; `extras` and some keys of `per_question` and `runtime` are added.
Nothing but `date`, `runtime`, `system.version` and the `sec` of a question differs between two runs.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.memory_bench.adapter import ANSWER_HITS, BUDGET, CITED_HITS, Bench, K
from bench.memory_bench.data import TestSet, note_id, unfolded
from bench.memory_bench.score import MAX_CITATIONS, Score, score
from memsvc import __version__
from memsvc.service.recall.tuning import Tuning

__all__ = [
    "SHIPPED",
    "Result",
    "differences",
    "faults",
    "make",
    "milliseconds",
    "processor",
    "read",
    "scored",
    "write",
]

Result = dict[str, Any]
"""A result file as JSON values."""

SHIPPED = ".shipped"
"""How the id of the model's build ends that computes in floats."""
SCHEMA = "memory-bench/result@1"
MAX_RETRIEVED = 50
TOLERANCE = 1e-9
_KERNELS = frozenset({"avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"})
_COMPARED = ("retrieved", "answer", "citations", "history", "not_current")


def make(
    test: TestSet, bench: Bench, entries: Sequence[dict[str, object]], tuning: Tuning
) -> Result:
    """A whole result file."""
    seconds = sorted(float(str(entry["sec"])) for entry in entries)
    model = bench.model_id()
    name = "memsvc-shipped" if model.endswith(SHIPPED) else "memsvc"
    return {
        "schema": SCHEMA,
        "bench_version": "0.1",
        "system": {
            "name": name,
            "version": __version__,
            "url": "",
            "adapter": "bench/memory_bench/adapter.py",
            "config": {
                "embedder": model,
                "k": K,
                "budget": BUDGET,
                "tuning": asdict(tuning),
                "answer": f"the passages of the first {ANSWER_HITS} hits, joined",
                "citations": f"the passages of the first {CITED_HITS} hits",
                "abstain": "the product's own",
                "history": "asked for when the wording asks what held before a change",
            },
        },
        "submitted_by": "memsvc",
        "date": datetime.now(UTC).date().isoformat(),
        "vault_sha256": test.vault_sha256,
        "questions_sha256": test.questions_sha256,
        "reproduce": {
            "in_ci": True,
            "command": f"python -m bench.memory_bench --check bench/results/{name}.json",
        },
        "runtime": {
            "setup_sec": round(bench.setup_seconds, 1),
            "sec_per_question": round(fmean(seconds), 4),
            "p50_ms": milliseconds(entries),
            "p95_ms": round(seconds[int(len(seconds) * 0.95)] * 1000, 1),
            "passages": bench.passages,
            "python": platform.python_version(),
            "processor": processor(),
        },
        "notes": "",
        **scored(score(test, entries)),
        "per_question": list(entries),
    }


def scored(found: Score) -> Result:
    """The numbers of a result file."""
    extras = found.extras.as_data() | {"temporal": found.temporal}
    return {"metrics": found.metrics.as_data(), "extras": extras}


def processor() -> str:
    """Which instructions the model's products use here: the 8-bit build rounds by them."""
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text("utf-8").split()) if info.exists() else set()
    return " ".join([platform.machine(), *sorted(flags & _KERNELS)])


def milliseconds(entries: Sequence[Mapping[str, object]]) -> float:
    """Median time of a recall."""
    return round(median(float(str(entry["sec"])) for entry in entries) * 1000, 1)


def write(result: Mapping[str, Any], path: Path) -> None:
    """One value a line, so that a change of one question is a change of few lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def read(path: Path) -> Result:
    """A result file. Raises OSError, ValueError, TypeError."""
    found = json.loads(path.read_text("utf-8"))
    if not isinstance(found, dict):
        raise TypeError(f"{path.name} holds no JSON object")
    return found


def faults(result: Mapping[str, Any], test: TestSet, *, ours: bool = True) -> list[str]:
    """What a result file claims and its own outputs do not bear out; empty when it holds.

    Every number is recomputed from `per_question` and must be within 1e-9, with no key missing or
    added; both hashes must be the data's, each question must be there once, and each quote must
    stand in the note that it names. Only files of `ours` have `extras`.
    """
    found = [
        f"{key} is {result.get(key)!r}, the data's is {must!r}"
        for key, must in (
            ("schema", SCHEMA),
            ("vault_sha256", test.vault_sha256),
            ("questions_sha256", test.questions_sha256),
        )
        if result.get(key) != must
    ]
    entries = result.get("per_question")
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        return [*found, "per_question is no list of objects"]
    given, asked = [str(one.get("id")) for one in entries], [one.id for one in test.questions]
    if sorted(given) != sorted(asked):
        amiss = sorted(set(given) ^ set(asked)) or sorted(set(given))
        found.append(f"per_question has not each question once: {', '.join(amiss[:5])}")
    bent = [f"{entry.get('id')}: {one}" for entry in entries for one in _malformed(entry)]
    if bent:
        return found + bent
    for entry in entries:
        found += [f"{entry.get('id')}: {one}" for one in _invented(entry, test)]
    must = scored(score(test, entries))
    for part in ("metrics", "extras") if ours else ("metrics",):
        found += _unequal(part, result.get(part), must[part])
    return found


def differences(kept: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[str]:
    """Each question whose ranked ids, answer, citations or marks are not the same; no tolerance."""
    again = {one["id"]: one for one in fresh["per_question"]}
    found = []
    for entry in kept["per_question"]:
        other = again.get(entry["id"], {})
        parts = [key for key in _COMPARED if entry.get(key) != other.get(key)]
        if parts:
            found.append(f"{entry['id']}: {', '.join(parts)}{_where(entry, other)}")
    return found


def _where(entry: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first rank at which two lists part, with both scores: how near a tie it was."""
    mine, theirs = entry.get("retrieved", []), other.get("retrieved", [])
    if mine == theirs:
        return ""
    rank = next(
        (at for at, pair in enumerate(zip(mine, theirs, strict=False)) if pair[0] != pair[1]),
        min(len(mine), len(theirs)),
    )
    sides = [
        " ".join(
            str(part[rank])
            for key in ("retrieved", "scores")
            if rank < len(part := one.get(key, []))
        )
        or "nothing"
        for one in (entry, other)
    ]
    return f"; rank {rank + 1} was {sides[0]}, is {sides[1]}"


def _malformed(entry: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    retrieved, cited = entry.get("retrieved"), entry.get("citations", [])
    if (
        not isinstance(retrieved, list)
        or len(retrieved) > MAX_RETRIEVED
        or not all(isinstance(one, str) for one in retrieved)
    ):
        found.append(f"retrieved is no list of at most {MAX_RETRIEVED} ids")
    if not isinstance(entry.get("answer"), str | None):
        found.append("the answer is neither text nor null")
    if (
        not isinstance(cited, list)
        or len(cited) > MAX_CITATIONS
        or not all(isinstance(one, dict) and set(one) == {"note", "quote"} for one in cited)
    ):
        found.append(f"citations is no list of at most {MAX_CITATIONS} notes with quotes")
    return found


def _invented(entry: Mapping[str, Any], test: TestSet) -> list[str]:
    quotes = [
        (one["note"], unfolded(str(one["quote"])), test.notes.get(note_id(str(one["note"])), ""))
        for one in entry.get("citations", [])
    ]
    return [
        f"a quote does not stand in {note}"
        for note, quote, text in quotes
        if not quote or quote not in text
    ]


def _unequal(name: str, claimed: object, must: object) -> list[str]:
    if isinstance(must, dict):
        if not isinstance(claimed, dict) or claimed.keys() != must.keys():
            return [f"{name} has not exactly the keys {', '.join(must)}"]
        return [one for key in must for one in _unequal(f"{name}.{key}", claimed[key], must[key])]
    if _same(claimed, must):
        return []
    return [f"{name} claims {claimed!r}, the outputs give {must!r}"]


def _same(claimed: object, must: object) -> bool:
    if must is None or claimed is None:
        return claimed is must
    if isinstance(claimed, bool) or not isinstance(claimed, int | float):
        return False
    return isinstance(must, int | float) and abs(claimed - must) <= TOLERANCE
