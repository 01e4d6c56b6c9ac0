"""memsvc as memory-bench asks it: one vault indexed, and each question one recall of the product."""

import hashlib
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from ulid import ULID

import memsvc
from bench.memory_bench.data import TestSet, note_id, unfolded
from memsvc.bootstrap import open_service
from memsvc.embedding.choice import choose_model, decide, model_folder
from memsvc.model.identity import Caller, Principal
from memsvc.model.replies import Hit, RecallReply, Related
from memsvc.model.requests import RecallRequest
from memsvc.model.vocabulary import SHARED, PrincipalKind, VaultName
from memsvc.service.api import MemoryService
from memsvc.service.recall.tuning import DEFAULT, Tuning
from memsvc.settings import Settings

__all__ = [
    "ANSWER_HITS",
    "BUDGET",
    "CITED_HITS",
    "Bench",
    "K",
    "NotWhole",
    "asks_for_history",
    "quote_of",
]

K = 10
BUDGET = 8_000
"""Tokens; ten passages of 400 characters fit."""
ANSWER_HITS = 3
CITED_HITS = 5

_NOW = datetime(2026, 12, 1, tzinfo=UTC)
_VAULT = VaultName("bench")
_KEPT = "kept.txt"
_ONLY_READ = frozenset({"reader.py", "visible.py", "scoring.py"})
"""Modules of the index that do not decide what is stored."""
_HISTORY = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at first|at the outset|to begin with|in the first place"
    r"|to start with|(?:in|at) the (?:beginning|start)|from the outset|earliest|earlier"
    r"|very first|as first|first (?:agreed|announced|chosen|decided|due|fixed|intended|meant|planned|scheduled|set|supposed)"
    r"|previous(?:ly)?|former(?:ly)?|used to be|prior to|history of"
    r"|before (?:it|that|this|they|the)\b.*\b(?:changed|moved|replaced|revised|updated|superseded))\b",
    re.IGNORECASE,
)
_LATER_HALF = re.compile(r"\A[^\[\]]*\]\]")
_FIRST_HALF = re.compile(r"\[\[?[^\[\]]*\]?\Z")


class NotWhole(Exception):
    """The index or the model was not complete: what was measured would not be the product."""


@dataclass(frozen=True, slots=True)
class Bench:
    """An indexed vault. `setup_seconds` is 0 and `passages` too when a kept home was opened again."""

    service: MemoryService
    caller: Caller
    home: Path
    setup_seconds: float = 0.0
    passages: int = 0

    @classmethod
    def open(
        cls,
        test: TestSet,
        work: Path,
        *,
        models: Path | None = None,
        reuse: bool = False,
        shipped: bool = False,
    ) -> "Bench":
        """Copy the vault into `work` and index it through the product, model and all.

        `models` is the folder of another home whose build of the model may be copied. With `reuse`
        a home in `work` is taken as it is, if the same vault was indexed there by the same code.
        `shipped` makes the home decide for the packaged build of the model, which computes in
        floats: slower, and its vectors agree to six digits between kinds of processors.

        Time stands still and ids count up, in the order of paths, so that a rerun is the same.
        """
        home, mark = work / "home", work / _KEPT
        indexed = f"{test.vault_sha256} {_indexing_code()} {shipped}"
        kept = reuse and mark.exists() and mark.read_text("utf-8") == indexed
        if not kept:
            _clear(work)
            shutil.copytree(test.vault, work / "vault", copy_function=shutil.copyfile)
            if models is not None and models.is_dir() and not shipped:
                shutil.copytree(models, home / "models")
            if shipped:
                folder = model_folder(home / "models")
                folder.mkdir(parents=True)
                decide(folder, "shipped", reason="the bench asked for it")
        settings = Settings.model_validate({"home": home, "vault": _VAULT})
        service = open_service(settings, clock=_Still(), new_id=_Counting())
        reader = Caller(Principal(PrincipalKind.AGENT, "bench"), _VAULT, SHARED, door="bench")
        begun = time.perf_counter()
        service.ensure_ready()
        if not kept:
            owner = Principal(PrincipalKind.HUMAN, "bench")
            keeper = Caller(owner, _VAULT, SHARED, door="bench", confirmed="flag")
            service.vault_add(keeper, _VAULT, str(work / "vault"), {})
        service.scan_all(reader)
        passages = service.embed_all()
        took = time.perf_counter() - begun
        mark.write_text(indexed, encoding="utf-8")
        return cls(service, reader, home, 0.0 if kept else took, 0 if kept else passages)

    def ask(self, question: str, *, tuning: Tuning = DEFAULT) -> dict[str, object]:
        """What a result file keeps of one question, without its id.

        `retrieved`: the notes of the hits in order, or those that an abstaining reply names. `answer`: the first three passages as a reader sees
        them, or None when the reply abstained. `citations`: the first five passages word for word.
        `not_current`: notes that the reply marks as replaced. Raises NotWhole.
        """
        history = asks_for_history(question)
        request = RecallRequest(query=question, k=K, budget=BUDGET, history=history)
        begun = time.perf_counter()
        reply = self.service.recall(self.caller, request, tuning=tuning)
        took = time.perf_counter() - begun
        _check_whole(reply, tuning)
        passages = [(_note(hit), quote_of(hit.text)) for hit in reply.hits]
        entry: dict[str, object] = {
            "retrieved": list(dict.fromkeys(map(_note, reply.hits or reply.nearest))),
            "answer": None if reply.abstained else _answer(passages),
            "citations": [
                {"note": note, "quote": quote} for note, quote in passages[:CITED_HITS] if quote
            ],
            "history": history,
            "not_current": _not_current(reply.hits),
            "scores": [hit.score for hit in reply.hits],
            "sec": round(took, 4),
        }
        return entry | ({"reason": reply.reason} if reply.abstained else {})

    def model_id(self) -> str:
        """Which model and build made the vectors."""
        return choose_model(self.home / "models").model_id

    def close(self) -> None:
        """Give back every handle; the home stays."""
        self.service.close()


def asks_for_history(question: str) -> bool:
    """Whether a question's wording asks what held before a change; the only thing read from it."""
    return _HISTORY.search(question) is not None


def quote_of(text: str) -> str:
    """A hit's passage as it stands in its note: without the dots of a cut and half a link beside them."""
    cut_before, cut_after = text.startswith("…"), text.endswith("…")
    quote = text.removeprefix("…").removesuffix("…")
    if cut_before:
        quote = _LATER_HALF.sub("", quote)
    if cut_after:
        quote = _FIRST_HALF.sub("", quote)
    return quote.strip()


def _answer(passages: Sequence[tuple[str, str]]) -> str:
    return "\n".join(unfolded(quote) for _, quote in passages[:ANSWER_HITS])


def _note(hit: Hit | Related) -> str:
    return note_id(hit.path)


def _not_current(hits: Sequence[Hit]) -> list[str]:
    """Notes of which no hit is marked current; one that has both is returned as current."""
    current = {_note(hit) for hit in hits if hit.current}
    return list(dict.fromkeys(note for note in map(_note, hits) if note not in current))


def _check_whole(reply: RecallReply, tuning: Tuning) -> None:
    coverage = reply.coverage
    vector = coverage.arms.get("vector", "")
    if coverage.waiting or coverage.notices:
        raise NotWhole(f"{coverage.waiting} files wait to be indexed; {coverage.notices}")
    if tuning.vector and (coverage.without_vector or vector != "ran"):
        raise NotWhole(f"the vector arm {vector}; {coverage.without_vector} passages lack a vector")


def _indexing_code() -> str:
    """A hash of the modules that decide what an index holds."""
    root = Path(memsvc.__file__).parent
    parts = ("notes", "ledger", "index", "embedding", "service/gateway")
    files = sorted(file for part in parts for file in (root / part).glob("*.py"))
    code = b"".join(file.read_bytes() for file in files if file.name not in _ONLY_READ)
    return hashlib.sha256(code).hexdigest()


def _clear(work: Path) -> None:
    """Remove what an earlier run left, and nothing else."""
    for name in ("home", "vault"):
        shutil.rmtree(work / name, ignore_errors=True)
    (work / _KEPT).unlink(missing_ok=True)
    work.mkdir(parents=True, exist_ok=True)


class _Still:
    """A clock that stands."""

    def now(self) -> datetime:
        return _NOW


class _Counting:
    """Ids that count up."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self, now: datetime) -> str:
        milliseconds = int(now.timestamp() * 1000)
        return str(ULID.from_int((milliseconds << 80) + next(self._numbers)))
