"""correct and forget: what is rejected stays rejected, and nothing else is."""

import re

import pytest

from memsvc.errors import Denied, InvalidInput, NotFound, RejectedClaim, StaleVersion
from memsvc.model.requests import CorrectRequest, ReadRequest
from memsvc.model.vocabulary import CorrectMode, Kind
from tests.service.world import World, agent, human

BODY = "The heron deploy port is 6544. The staging host is called marsh."


@pytest.mark.guarantee("C1", "C2")
def test_wrong_rejects_what_the_new_text_drops_and_keeps_the_rest(world: World) -> None:
    note = world.save("Deploy", BODY)
    fixed = world.correct(note, BODY.replace("6544", "5433"))
    assert (fixed.version, fixed.id, fixed.path) == (2, note.id, note.path)
    assert fixed.tombstones >= 1
    assert "5433" in world.hits("deploy port")[0].text
    for again in (
        "The heron deploy port is 6544.",
        "the HERON deploy   port is **6544**",
        "- The heron deploy port is 6544!",
        "Note: ok.\n\nThe heron deploy port is 6544. More.",
        "The heron de\u200bploy port is 6544.",
    ):
        with pytest.raises(RejectedClaim) as caught:
            world.save("Again", again)
        assert "6544" not in caught.value.message
        assert "tombstone lift" in caught.value.message
    kept = world.save("Neighbour", "The heron deploy port is 6545.")
    elsewhere = world.save("Other", "The heron deploy port is 6544.", by=agent("osprey"))
    assert (kept.outcome, elsewhere.outcome) == ("created", "created")


@pytest.mark.guarantee("C1")
def test_a_rejected_claim_stays_out_after_reindex_restart_and_supersession(world: World) -> None:
    note = world.save("Deploy", "The heron deploy port is 6544.")
    world.correct(note, "The heron deploy port is 5433.")
    newer = world.save("Deploy now", "The heron deploy port is 7000.", supersedes=(note.id,))
    world.service.reindex(human())
    world.restart()
    with pytest.raises(RejectedClaim):
        world.save("Back", "The heron deploy port is 6544.")
    with pytest.raises(RejectedClaim):
        world.correct(newer, "The heron deploy port is 6544.", "changed")
    assert world.save("New", "The heron deploy port is 7001.").outcome == "created"


def test_changed_ends_the_old_value_and_rejects_nothing(world: World) -> None:
    note = world.save("Deadline", "The heron deadline is 3 March.", valid_from="2026-01-01")
    moved = world.correct(
        note, "The heron deadline is 12 March.", "changed", effective="2026-02-01"
    )
    assert (moved.tombstones, moved.valid_from) == (0, "2026-02-01")
    now = world.hits("heron deadline")
    assert [hit.version for hit in now] == [2]
    then = world.hits("heron deadline", as_of="2026-01-15")
    assert [(hit.version, "3 March" in hit.text) for hit in then] == [(1, True)]
    assert world.save("Old again", "The heron deadline is 3 March.").outcome == "created"


def test_amend_keeps_the_validity_and_rejects_nothing(world: World) -> None:
    note = world.save("Typo", "The heron dedline is 3 March.", valid_from="2026-01-01")
    fixed = world.correct(note, "", "amend", old_text="dedline", new_text="deadline")
    view = world.service.read(agent(), ReadRequest(id=note.id))
    assert (fixed.tombstones, view.valid_from) == (0, "2026-01-01")
    assert view.body == "The heron deadline is 3 March.\n"
    assert [hit.version for hit in world.hits("heron deadline")] == [2]


@pytest.mark.guarantee("W5")
def test_a_stale_version_is_refused_with_the_current_text(world: World) -> None:
    note = world.save("Deploy", BODY)
    world.correct(note, "The heron deploy port is 5433.", "amend")
    with pytest.raises(StaleVersion) as caught:
        world.correct(note, "The heron deploy port is 9999.", "amend")
    assert caught.value.data["version"] == 2
    assert caught.value.data["body"] == "The heron deploy port is 5433.\n"
    assert "5433" in world.hits("deploy port")[0].text


@pytest.mark.parametrize("old_text", ["absent words", "heron"])
def test_old_text_must_occur_exactly_once(world: World, old_text: str) -> None:
    note = world.save("Deploy", "heron and heron again are here.")
    with pytest.raises(InvalidInput, match="exactly once"):
        world.correct(note, "", "amend", old_text=old_text, new_text="x")
    fixed = world.correct(note, "", "amend", old_text="again", new_text="twice")
    assert fixed.version == 2


@pytest.mark.guarantee("C3")
def test_forget_takes_a_note_out_of_recall_and_rejects_its_claims(world: World) -> None:
    note = world.save("Deploy", BODY)
    other = world.save("Tea", "The tea is served at four o'clock.")
    gone = world.forget(note.id, reason="never true")
    assert (gone.outcome, gone.trash) == ("retracted", ".trash/heron/deploy.md")
    assert not world.file(note.path).exists()
    assert world.file(gone.trash).exists()
    assert world.ids("heron deploy port") == []
    assert world.ids("tea served") == [other.id]
    with pytest.raises(NotFound):
        world.service.read(agent(), ReadRequest(id=note.id))
    with pytest.raises(RejectedClaim) as caught:
        world.save("Deploy", "The staging host is called marsh.")
    assert caught.value.data["reason"] == "never true"
    assert world.save("Deploy", "The staging host is called fen.").outcome == "created"


def test_forget_of_a_passage_keeps_the_rest_of_the_note(world: World) -> None:
    note = world.save("Deploy", BODY)
    world.forget(note.id, passage="The heron deploy port is 6544. ")
    assert "6544" not in world.file(note.path).read_text("utf-8")
    assert world.ids("staging host marsh") == [note.id]
    with pytest.raises(RejectedClaim):
        world.save("Back", "The heron deploy port is 6544.")


def test_forget_lists_other_notes_that_state_the_same(world: World) -> None:
    note = world.save("Deploy", "The heron deploy port is 6544.")
    twin = world.save("Runbook", "Read this first. The heron deploy port is 6544. Then breathe.")
    far = world.save("Osprey", "The heron deploy port is 6544.", by=agent("osprey"))
    reply = world.forget(note.id)
    assert [one.id for one in reply.also_stated_in] == [twin.id]
    assert far.id not in {one.id for one in reply.also_stated_in}


def test_an_agents_purge_becomes_a_retraction_with_a_review_item(world: World) -> None:
    note = world.save("Deploy", BODY)
    world.forget(note.id, mode="purge")
    assert world.ids("deploy port") == []
    assert [item["kind"] for item in world.service.reviews(human())] == ["purge_request"]


@pytest.mark.guarantee("C6")
def test_only_a_confirmed_person_lifts_a_tombstone(world: World) -> None:
    note = world.save("Deploy", "The heron deploy port is 6544.")
    world.forget(note.id)
    with pytest.raises(RejectedClaim) as caught:
        world.save("Deploy", "The heron deploy port is 6544.")
    for caller in (agent(), human(confirmed="")):
        with pytest.raises(Denied):
            world.service.lift(caller, str(caught.value.data["tombstone"]), "it is true")
    for item in world.service.tombstones(human()):
        world.service.lift(human(), str(item["tombstone_id"]), "it is true")
    assert world.save("Deploy", "The heron deploy port is 6544.").outcome == "created"
    actions = [one.action for one in world.service.audit_list(human()).events]
    assert "lift" in actions


@pytest.mark.guarantee("W6")
def test_a_correction_keeps_the_bytes_it_was_not_asked_to_change(world: World) -> None:
    before = (
        "\ufeff---\r\n# mine\r\nzeta: 'no'   # keep\r\ntime: 10:00\r\naliases: [Marsh]\r\n"
        "version: 1.10\r\n---\r\n# Host\r\n\r\nThe host is marsh.\r\nThe second line stays.\r\n"
    )
    path = world.write("heron/host.md", before)
    (hit,) = world.hits("second line stays")
    world.correct(hit, "", "amend", old_text="marsh", new_text="fen")  # type: ignore[arg-type] # has id and version
    after = path.read_bytes().decode("utf-8")
    assert after.startswith(
        "\ufeff---\r\n# mine\r\nzeta: 'no'   # keep\r\ntime: 10:00\r\naliases: [Marsh]\r\n"
    )
    assert after.endswith("---\r\n# Host\r\n\r\nThe host is fen.\r\nThe second line stays.\r\n")
    assert "\n" not in after.replace("\r\n", "")


@pytest.mark.guarantee("C1", "C2")
def test_a_rejected_claim_does_not_come_back_as_a_source(world: World) -> None:
    note = world.save("Deploy", "The heron deploy port is 6544.")
    fixed = world.correct(note, "The heron deploy port is 5433.")
    again = ("The heron deploy port is 6544.",)
    with pytest.raises(RejectedClaim):
        world.save("Oven", "The oven is cold today.", source=again)
    with pytest.raises(RejectedClaim):
        world.correct(fixed, "The heron deploy port is 5434.", "changed", source=again)
    world.write("heron/oven.md", f'---\nsource: "{again[0]}"\n---\nThe oven is warm today.\n')
    kept = world.save("Lamp", "The lamp hangs low.", source=("The heron deploy port is 6545.",))
    assert world.ids("oven warm today") == []
    assert world.ids("lamp hangs low") == [kept.id]


@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("mode", ["amend", "changed"])
def test_a_forgotten_passage_leaves_the_earlier_versions_too(world: World, mode: str) -> None:
    passage = "The heron deploy port is 6544."
    note = world.save("Deploy", f"{passage} The lamp hangs high.", valid_from="2026-01-01")
    moved = world.correct(note, f"{passage} The lamp hangs low.", mode)
    other = world.save("Lamp", "The osprey lamp hangs high.", valid_from="2026-01-01")
    world.correct(other, "The osprey lamp hangs low.", mode)
    before = world.hits("heron deploy port", history=True)
    assert {hit.version for hit in before if hit.id == note.id} == {1, 2}
    world.forget(moved.id, passage=passage)
    world.service.reindex(human())
    for more in ({"history": True}, {"as_of": "2026-01-15"}, {}):
        assert not [hit for hit in world.hits("heron deploy port", **more) if "6544" in hit.text]
    kept = world.hits("osprey lamp hangs high", history=True)
    assert {hit.version for hit in kept if hit.id == other.id} == {1, 2}


@pytest.mark.guarantee("W6")
def test_a_correction_leaves_the_keys_that_it_does_not_mean(world: World) -> None:
    note = world.save("Host", "The host is marsh.", kind=Kind.FACT)
    path = world.file(note.path)
    text = re.sub(r"created: .*", "created: 2020-01-01T00:00:00Z", path.read_text("utf-8"))
    path.write_text(text.replace("kind: fact", "kind: decision"), "utf-8")
    edited = world.service.read(agent(), ReadRequest(id=note.id))
    request = CorrectRequest(
        id=note.id, version=edited.version, mode=CorrectMode.AMEND, body="The host is fen.\n"
    )
    world.service.correct(agent(), request)
    after = path.read_text("utf-8")
    assert "The host is fen." in after
    assert "created: 2020-01-01T00:00:00Z\n" in after
    assert "kind: decision\n" in after


def test_a_hand_written_file_gets_its_identity_when_it_is_first_corrected(world: World) -> None:
    path = world.write("heron/port.md", "---\ntype: decision\n---\nThe deploy port is 6544.\n")
    (hit,) = world.hits("deploy port")
    request = CorrectRequest(
        id=hit.id, version=1, mode=CorrectMode.WRONG, body="The deploy port is 5433."
    )
    assert "id:" not in path.read_text()
    world.service.correct(agent(), request)
    head = dict(re.findall(r"^(\w+): (.*)$", path.read_text(), re.MULTILINE))
    assert (head["id"], head["kind"], head["project"]) == (hit.id, hit.kind, "heron")
    moved = world.file("heron/elsewhere.md")
    path.rename(moved)
    assert world.ids("deploy port") == [hit.id]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"new_text": "fen"},
        {"body": "The staging host is called fen.", "old_text": "marsh"},
        {"body": "The staging host is called fen.", "new_text": "fen"},
    ],
)
def test_a_correction_is_a_whole_text_or_one_passage(world: World, given: dict[str, str]) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    with pytest.raises(InvalidInput) as caught:
        world.correct(note, mode="amend", **{"body": "", **given})  # type: ignore[arg-type] # passed on
    assert caught.value.data["argument"] == "body"
    assert [hit.version for hit in world.hits("staging host")] == [1]
    world.correct(note, "", "amend", old_text="marsh", new_text="fen")
    (hit,) = world.hits("staging host")
    assert (hit.version, hit.text) == (2, "The staging host is called fen.")


def test_a_passage_is_found_with_blanks_around_it(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.\n\nTea is served at four.")
    world.forget(note.id, passage="  The staging host is called marsh.\n ")
    (hit,) = world.hits("tea served")
    assert (hit.id, hit.text) == (note.id, "Tea is served at four.")
    assert "marsh" not in world.file(note.path).read_text("utf-8")


def test_an_effective_day_lies_after_the_old_text_began_and_leaves_its_end(world: World) -> None:
    note = world.save(
        "Host",
        "The staging host is called marsh.",
        valid_from="2026-03-01",
        valid_to="2027-06-01",
    )
    new = "The staging host is called fen."
    for day in ("2026-02-01", "2026-03-01"):
        with pytest.raises(InvalidInput, match="must be later"):
            world.correct(note, new, "changed", effective=day)
    reply = world.correct(note, new, "changed", effective="2026-04-01")
    assert reply.valid_from == "2026-04-01"
    old, now = world.service.read(human(), ReadRequest(id=note.id)).versions
    assert (old.valid_from, old.valid_to) == ("2026-03-01", "2026-04-01")
    assert (now.valid_from, now.valid_to) == ("2026-04-01", "2027-06-01")


def test_a_file_with_an_id_gets_a_title_and_no_status_that_it_did_not_have(world: World) -> None:
    head = "---\nid: 01KBA7ZD5QX4T9W2M3N8R6C0VE\n---\n"
    path = world.write("heron/host.md", f"{head}# The host\n\nThe staging host is called marsh.\n")
    (hit,) = world.hits("staging host")
    note = world.service.read(agent(), ReadRequest(id=hit.id))
    world.correct(note, "The staging host is called fen.\n", "changed")  # type: ignore[arg-type] # has id and version
    written = path.read_text("utf-8")
    assert "title: The host\n" in written
    assert "status:" not in written
    assert world.hits("staging host")[0].title == "The host"
