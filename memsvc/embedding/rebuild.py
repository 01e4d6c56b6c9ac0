"""The child process that builds a home's model once: `python -m memsvc.embedding.rebuild FOLDER`.

Exit 0: the folder holds a decision. NO_STORAGE: nothing decided, the reason is on standard error.
Anything else is a build that failed, and the parent decides for the packaged file.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from memsvc.embedding.choice import (
    BUILD_LOCK,
    MODEL_FILE,
    NO_STORAGE,
    decide,
    decided,
)
from memsvc.embedding.fused import write_fused
from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.profile import digest_of, packaged_model

__all__ = ["CHECKED", "agreement", "main", "rebuild"]

_LOCK_SECONDS = 240
_MEAN = 0.99
_LEAST = 0.97

CHECKED = (
    "When is the release due?",
    "The release moved from 3 to 12 March because the audit found two open findings.",
    "who owns the billing service",
    "Do not retry a payment that timed out; ask the provider for its state first.",
    "port 5433",
    "def parse(line: str) -> Event: return Event(*line.split(maxsplit=2))",
    "Die Sitzung wurde auf Donnerstag verschoben.",
    "数据库的端口是五四三三",
    "ERROR 2026-11-30T10:04:11Z worker-3 connection reset by peer (attempt 4 of 5)",
    "We chose PostgreSQL over a document store: the reports join seven tables.",
    "prefers short answers, metric units and no emoji",
    "",
    "Rollback: stop the consumers, restore the snapshot, replay the log from the last offset. " * 8,
)
"""What both builds embed, and must agree on, before the new one is used on this machine."""


def rebuild(folder: Path, *, write: Callable[[Path, Path], None] = write_fused) -> None:
    """Leave a decision in the folder, whoever makes it; `write` makes the new build of a model.

    Raises ValueError if the new build does not agree with the packaged one, and what `write` raises.
    """
    with FileLock(folder / BUILD_LOCK, timeout=_LOCK_SECONDS):
        if decided(folder) is not None:
            return
        for leftover in folder.glob("*.tmp"):
            leftover.unlink(missing_ok=True)
        source = packaged_model()
        candidate = folder / f"{MODEL_FILE}.tmp"
        try:
            write(source, candidate)
            mean, least = agreement(source, candidate)
            if mean < _MEAN or least < _LEAST:
                raise ValueError(
                    f"on this machine the rebuilt model differs from the packaged one "
                    f"(cosine {mean:.3f} on average, {least:.3f} at worst)"
                )
            digest = digest_of(candidate)
            candidate.replace(folder / MODEL_FILE)
        finally:
            candidate.unlink(missing_ok=True)
        decide(folder, "rebuilt", sha256=digest)


def agreement(source: Path, candidate: Path) -> tuple[float, float]:
    """Mean and least cosine between the vectors of two builds for the checked texts."""
    expected = OnnxEmbedder(source, model_id="source").embed_passages(CHECKED)
    actual = OnnxEmbedder(candidate, model_id="candidate").embed_passages(CHECKED)
    cosines = (expected * actual).sum(axis=1)
    return float(cosines.mean()), float(cosines.min())


def main(folder: Path) -> int:
    """Rebuild, and say how it ended as an exit code."""
    try:
        rebuild(folder)
    except OSError as error:
        sys.stderr.write(f"the home cannot be written: {error.strerror or error}\n")
        return NO_STORAGE
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
