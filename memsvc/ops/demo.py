"""Plays the promises of memsvc once, in a throw-away home, and checks each of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memsvc.errors import RejectedClaim
from memsvc.model.identity import Caller, Principal
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    HistoryRequest,
    RecallRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import CorrectMode, Kind, PrincipalKind, ProjectSlug, VaultName
from memsvc.service.api import MemoryService

__all__ = ["Step", "play"]

_OLD = "The heron release is on 3 March 2027."
_NEW = "The heron release is on 12 March 2027."
_QUESTION = "when is the heron release"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was done, what came of it, and whether it is what memsvc promises."""

    name: str
    ok: bool
    said: str


@dataclass(slots=True)
class _Stage:
    service: MemoryService
    say: Callable[[str], None]
    steps: list[Step]

    def check(self, name: str, ok: bool, said: str) -> None:  # noqa: FBT001 - the step's verdict
        self.steps.append(Step(name, ok, said))
        self.say(f"{'ok  ' if ok else 'FAIL'} {name}: {said}")


def play(
    open_home: Callable[[Path], MemoryService], folder: Path, say: Callable[[str], None]
) -> list[Step]:
    """Save, recall in two projects, correct, forget, try again, audit; tells `say` line by line."""
    service = open_home(folder / "home")
    try:
        service.ensure_ready()
        stage = _Stage(service, say, [])
        heron, osprey = _caller("heron"), _caller("osprey")
        note = _save_and_recall(stage, heron, osprey)
        version = _correct(stage, heron, note)
        _forget(stage, heron, note, version)
        _audit(stage, heron)
        return stage.steps
    finally:
        service.close()


def _caller(project: str) -> Caller:
    return Caller(
        principal=Principal(PrincipalKind.AGENT, "demo"),
        vault=VaultName("personal"),
        project=ProjectSlug(project),
        door="demo",
    )


def _save_and_recall(stage: _Stage, heron: Caller, osprey: Caller) -> str:
    request = SaveRequest(
        title="Heron release", body=_OLD, kind=Kind.DECISION, reason="release meeting"
    )
    saved = stage.service.save(heron, request)
    stage.check("save", saved.outcome == "created", f"{saved.path} in {saved.scope}")
    found = stage.service.recall(heron, RecallRequest(query=_QUESTION))
    arms = ", ".join(f"{name} {state}" for name, state in found.coverage.arms.items())
    stage.check(
        "recall in heron",
        [hit.id for hit in found.hits] == [saved.id],
        f"{found.count} note ({arms})",
    )
    elsewhere = stage.service.recall(osprey, RecallRequest(query=_QUESTION))
    stage.check("recall in osprey", elsewhere.count == 0, f"{elsewhere.count} notes: nothing leaks")
    return saved.id


def _correct(stage: _Stage, heron: Caller, note: str) -> int:
    request = CorrectRequest(
        id=note, version=1, mode=CorrectMode.WRONG, body=_NEW, reason="the date was misheard"
    )
    corrected = stage.service.correct(heron, request)
    stage.check(
        "correct",
        corrected.version == 2 and corrected.tombstones > 0,
        f"version {corrected.version}, {corrected.tombstones} statements rejected",
    )
    found = stage.service.recall(heron, RecallRequest(query=_QUESTION))
    texts = " ".join(hit.text for hit in found.hits)
    stage.check(
        "recall the correction", "12 March" in texts and "3 March" not in texts.replace("12 March", ""),
        "only the new date comes back",
    )  # fmt: skip
    _refused(stage, heron, "save the old date again", _OLD)
    return corrected.version


def _forget(stage: _Stage, heron: Caller, note: str, version: int) -> None:
    gone = stage.service.forget(heron, ForgetRequest(id=note, reason="the release was cancelled"))
    found = stage.service.recall(heron, RecallRequest(query=_QUESTION))
    stage.check(
        "forget",
        gone.version >= version and found.count == 0,
        f"the file is in {gone.trash or 'the trash'}; recall finds {found.count} notes",
    )
    _refused(stage, heron, "save the forgotten text again", _NEW.upper())
    other = "The heron release is on 30 April 2027."
    saved = stage.service.save(heron, SaveRequest(title="Heron release", body=other))
    stage.check("save a date never rejected", saved.outcome == "created", saved.path)


def _refused(stage: _Stage, caller: Caller, name: str, text: str) -> None:
    try:
        stage.service.save(caller, SaveRequest(title="Heron date", body=text))
    except RejectedClaim as error:
        stage.check(name, ok=True, said=f"refused: {error.message}")
    else:
        stage.check(name, ok=False, said="it was accepted")


def _audit(stage: _Stage, heron: Caller) -> None:
    events = stage.service.history(heron, HistoryRequest(limit=50)).events
    for event in reversed(events):
        stage.say(f"     #{event.seq} {event.action} {event.outcome} by {event.actor}")
    verified = stage.service.audit_verify()
    stage.check("audit", bool(verified["ok"]), f"{verified['events']} events, the chain holds")
