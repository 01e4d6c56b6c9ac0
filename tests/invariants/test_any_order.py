"""Whatever people and agents do, and in whatever order: what was rejected, replaced or is another's stays away."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memsvc.errors import (
    Denied,
    InvalidInput,
    NotFound,
    Refused,
    StaleVersion,
    Uneditable,
    VaultOffline,
)
from memsvc.ledger import registry
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Hit
from memsvc.model.requests import AuditRequest, DecisionRequest, ReadRequest, RestoreRequest
from memsvc.model.vocabulary import Disposition, ProjectSlug, VaultName
from memsvc.service.gateway import checks
from memsvc.service.gateway.indexing import document_of
from tests.service.world import World, agent, human

STEPS = 40
PROJECTS = ("heron", "osprey")
ALL = "port host key release today 4711 4712 marsh-7 March"
"""Words of every statement that is made here."""
TURNED_DOWN = (Denied, InvalidInput, NotFound, Refused, StaleVersion, Uneditable)


class Play:
    """One home in which things are done in an order that the seed chooses."""

    def __init__(self, root: Path, seed: int) -> None:
        self.world = World(root)
        self.dice = random.Random(seed)  # noqa: S311 - to be the same at every run
        self.step = 0
        self.told: list[str] = []
        for project in PROJECTS * 3:
            self.save(agent(project))
            self.step += 1

    # -- what is done ----------------------------------------------------------------------

    def statement(self) -> str:
        bird = self.dice.choice(["heron", "osprey", "marsh", "fen", "otter"])
        what = self.dice.choice(["port", "host", "key", "release"])
        value = self.dice.choice(["4711", "4712", "marsh-7", "12 March", "3 March"])
        return f"The {bird} {what} is {value} today."

    def body(self) -> str:
        return "\n\n".join(self.statement() for _ in range(self.dice.randint(1, 3))) + "\n"

    def known(self, caller: Caller) -> str:
        """The id of a note that the caller's project shows."""
        return self.dice.choice(self.world.ids(ALL, by=caller, k=30) or ["none"])

    def save(self, caller: Caller) -> None:
        self.world.save(f"Title {self.step}", self.body(), by=caller)

    def supersede(self, caller: Caller) -> None:
        old = (self.known(caller),)
        self.world.save(f"Title {self.step}", self.body(), by=caller, supersedes=old)

    def correct(self, caller: Caller) -> None:
        note = self.world.service.read(caller, ReadRequest(id=self.known(caller)))
        mode = self.dice.choice(["wrong", "changed", "amend"])
        self.world.correct(note, self.body(), mode, by=caller)  # type: ignore[arg-type] # has id and version

    def forget(self, caller: Caller) -> None:
        mode = self.dice.choice(["retract", "retract", "purge"])
        self.world.forget(self.known(caller), by=caller, mode=mode)

    def forget_passage(self, caller: Caller) -> None:
        note = self.world.service.read(caller, ReadRequest(id=self.known(caller)))
        passage = self.dice.choice([line for line in note.body.split("\n") if line.strip()])
        self.world.forget(note.id, by=caller, passage=passage)

    def restore(self, caller: Caller) -> None:
        request = AuditRequest(limit=500)
        events = self.world.service.audit_list(human(caller.project), request).events
        gone = [one.note_id for one in events if one.action in ("forget", "file_delete", "correct")]
        person = human(caller.project)
        self.world.service.restore(person, RestoreRequest(id=self.dice.choice(gone or ["none"])))

    def lift(self, caller: Caller) -> None:
        made = self.world.service.tombstones(human(caller.project))
        ids = [str(one["tombstone_id"]) for one in made if not one["lifted_at"]]
        self.world.service.lift(human(caller.project), self.dice.choice(ids or ["none"]), "")

    def review(self, _: Caller) -> None:
        items = [str(one["review_id"]) for one in self.world.service.reviews(human())]
        decision = DecisionRequest(
            id=self.dice.choice(items or ["none"]),
            disposition=self.dice.choice([*set(Disposition) - {Disposition.REPLACE}]),
            lift=self.dice.random() < 0.3,
        )
        self.world.service.decide(human(), decision)

    def policy(self, _: Caller) -> None:
        pairs = ["review=none", "review=agents", "external_edits=trust", "external_edits=propose"]
        self.world.service.vault_policy(human(), "personal", [self.dice.choice(pairs)])

    def files(self, folder: str = "") -> list[Path]:
        found = sorted((self.world.vault / folder).rglob("*.md"))
        return [one for one in found if folder or ".trash" not in one.parts]

    def put(self, data: bytes, folder: str, name: str) -> None:
        if not (self.world.vault / folder / name).exists():
            self.world.write(f"{folder}/{name}", data)

    def new_file(self, caller: Caller) -> None:
        self.put(self.body().encode(), caller.project, f"file{self.step}.md")

    def edit(self, _: Caller) -> None:
        file = self.dice.choice(self.files())
        text = file.read_text("utf-8")
        more = f"{text.rstrip()}\n\n{self.statement()}\n"
        other = text.replace("4711", "4712").replace("12 March", "3 March")
        file.write_text(self.dice.choice([more, other]), "utf-8")

    def move(self, _: Caller) -> None:
        file = self.dice.choice(self.files())
        folder = self.dice.choice(["heron", "osprey", "heron/sub"])
        if not (self.world.vault / folder / file.name).exists():
            (self.world.vault / folder).mkdir(exist_ok=True, parents=True)
            file.rename(self.world.vault / folder / file.name)

    def copy(self, caller: Caller) -> None:
        data = self.dice.choice(self.files()).read_bytes()
        self.put(data, caller.project, f"copy{self.step}.md")

    def delete(self, _: Caller) -> None:
        self.dice.choice(self.files()).unlink()

    def take_from_trash(self, caller: Caller) -> None:
        file = self.dice.choice(self.files(".trash"))
        self.put(file.read_bytes(), caller.project, file.name)

    def reindex(self, _: Caller) -> None:
        self.world.service.reindex(human())

    def restart(self, _: Caller) -> None:
        self.world.restart()

    def go_on(self) -> None:
        """One thing done by somebody; what is turned down changes nothing, and that is fine."""
        project = self.dice.choice(PROJECTS)
        caller = self.dice.choice([agent(project), human(project)])
        act = self.dice.choice(self.acts)
        self.told.append(f"{self.step} {act.__name__} by {caller.principal} in {project}")
        self.step += 1
        try:
            act(caller)
        except VaultOffline:
            self.world.service.vault_accept(human(), "personal")
        except IndexError:
            pass  # there is no such file yet
        except TURNED_DOWN as error:
            self.told[-1] += f": {error.code}"

    @property
    def acts(self) -> list[Callable[[Caller], None]]:
        often = [self.save, self.save, self.correct, self.forget, self.edit]
        return [
            *often,
            self.supersede,
            self.correct,
            self.forget_passage,
            self.restore,
            self.lift,
            self.review,
            self.policy,
            self.new_file,
            self.edit,
            self.move,
            self.copy,
            self.delete,
            self.take_from_trash,
            self.reindex,
            self.restart,
        ]

    # -- what holds all the while ----------------------------------------------------------

    def shown(self, project: str, *, history: bool = False) -> list[Hit]:
        by = agent(project)
        try:
            return self.world.hits(ALL, by=by, k=50, budget=20_000, history=history)
        except VaultOffline:
            self.world.service.vault_accept(human(), "personal")
            return self.world.hits(ALL, by=by, k=50, budget=20_000, history=history)

    def check(self) -> int:
        """What holds after every step; how many hits it was seen on."""
        count = 0
        for project in PROJECTS:
            for hit in self.shown(project):
                assert hit.scope in (f"personal/{project}", "personal/shared"), self.told
                view = self.world.service.read(agent(project), ReadRequest(id=hit.id))
                seen = (hit.current, view.status, view.withheld, view.version)
                assert seen == (True, "active", "", hit.version), self.told
                assert (self.world.vault / hit.path).is_file(), self.told
                assert self.let_back(hit) == [], self.told
                count += 1
        return count

    def let_back(self, hit: Hit) -> list[str]:
        """The rejections that a note on show came to break after they were made. What it said
        before stays: the reply to a rejection names the notes that say the same.
        """
        scope = Scope(VaultName("personal"), ProjectSlug(hit.scope.partition("/")[2]))
        keys = self.world.service._gateway._parts.keys()
        since: dict[str, str] = {}
        with self.world.service._database.read() as connection:
            running: set[str] | None = None
            for one in reversed(registry.versions_of(connection, hit.id)):
                document = document_of(one)
                stated = checks.statements(document.title, document.body)
                met = checks.find_rejected(connection, keys, scope, stated)
                broken = {tombstone.tombstone_id for tombstone in met}
                running = broken if running is None else running & broken
                came = one.recorded_from if one.scope == scope else self.moved(hit)
                since |= dict.fromkeys(running, came)
                if one.scope != scope or not running:
                    break
            rows = connection.exec_driver_sql("SELECT tombstone_id, at FROM tombstone").all()
        made = {str(key): str(at) for key, at in rows}
        return [key for key, first in since.items() if made[key] < first]

    def moved(self, hit: Hit) -> str:
        """When the note came into the project that it is in."""
        request = AuditRequest(id=hit.id, action="file_move")
        caller = human(hit.scope.partition("/")[2])
        return self.world.service.audit_list(caller, request).events[0].at

    def same_after_a_rebuild(self) -> None:
        def answers() -> list[tuple[object, ...]]:
            return [
                (hit.id, hit.version, hit.current, hit.text, round(hit.score, 6))
                for project in PROJECTS
                for history in (False, True)
                for hit in self.shown(project, history=history)
            ]

        def entries() -> list[str]:
            """What the index holds of each version, without the numbers that it gives itself, nor
            the status of earlier versions, which no answer depends on.
            """
            with self.world.service._database.read() as connection:
                rows = connection.exec_driver_sql("SELECT * FROM index_entry").mappings().all()
            own = {"entry_id", "change", "first_chunk"}
            return sorted(
                str(
                    {
                        k: v
                        for k, v in row.items()
                        if k not in own and (k != "status" or row["latest"])
                    }
                )
                for row in rows
            )

        before, held = answers(), entries()
        self.world.service.reindex(human())
        assert answers() == before, self.told
        assert entries() == held, self.told


@pytest.mark.slow
@pytest.mark.guarantee("S1", "C1", "C4", "A2", "R5")
@pytest.mark.parametrize("seed", [3, 6, 7, 18, 31])
def test_what_was_taken_back_stays_away_whatever_is_done(tmp_path: Path, seed: int) -> None:
    play = Play(tmp_path, seed)
    showed = 0
    for _ in range(STEPS):
        play.go_on()
        showed += play.check()
    play.same_after_a_rebuild()
    assert showed > 0
    assert play.world.service.audit_verify()["ok"]
    play.world.service.close()
    shutil.rmtree(tmp_path / "home")
