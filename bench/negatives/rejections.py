"""Cases of what was taken out by a verb: rejected claims, retracted notes and passages, purges."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from bench.negatives.asking import found
from bench.negatives.cases import Case, Control, Negative
from bench.negatives.facts import Fact, Facts
from bench.negatives.guises import GUISES
from bench.negatives.house import HERE, THERE, House, agent, person
from bench.negatives.tally import Tally
from memsvc.errors import RejectedClaim
from memsvc.model.identity import Caller
from memsvc.model.replies import CorrectReply, SaveReply
from memsvc.model.requests import DecisionRequest, RecallRequest
from memsvc.model.vocabulary import CorrectMode, Disposition, ForgetMode

__all__ = ["build_near_duplicates", "build_purged", "build_rejected", "build_retracted"]

ME = agent()
FEW = ("as it was", "among other text", "list item", "heading", "cyrillic letters", "zero width")


def restate(
    house: House,
    tally: Tally,
    negative: Negative,
    name: str,
    statement: str,
    *,
    guises: Iterable[str],
    others: tuple[Caller, ...] = (),
) -> tuple[str, ...]:
    """State what was rejected again, by save and by file, in each guise; the files' paths.

    A probe is violated by a save that is taken, and by a file that recall then shows.
    """
    paths = []
    for number, guise in enumerate(guises):
        body = GUISES[guise](statement)
        for caller in (ME, *others):
            how = f"saved again by {caller.principal}, {guise}"
            tally.probe(negative, name, how, _saved(house, caller, f"{guise} again", body))
        path = f"{HERE}/{_plain(name)}-{number}-{house.now()[5:16].replace(':', '')}.md"
        house.write(path, body)
        house.settle()
        hits = house.ask(ME, RecallRequest(query=statement, k=50, budget=20_000)).hits
        shown = any(hit.path == path for hit in hits)
        tally.probe(negative, name, f"file, {guise}", "recalled" if shown else "")
        paths.append(path)
    return tuple(paths)


def _plain(name: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in name)


def _saved(
    house: House, caller: Caller, title: str, body: str, source: tuple[str, ...] = ()
) -> str:
    try:
        reply = house.save(title, body, by=caller, source=source)
    except RejectedClaim:
        return ""
    return "" if reply.outcome == "proposed" else f"taken: {reply.outcome}"


def neighbours(
    house: House, tally: Tally, negative: Negative, name: str, fact: Fact
) -> tuple[Control, ...]:
    """Statements that differ from a rejected one in the value, in a negation, or in the scope:
    each must be taken and found.
    """
    statement = fact.says(fact.old)
    near = {
        "another value": (ME, fact.says(fact.other), fact.other),
        "negated": (ME, statement.replace(" is ", " is not "), f"not {fact.old}"),
        "another project": (agent(THERE), statement, fact.old),
    }
    made = []
    for how, (caller, body, says) in near.items():
        try:
            note = house.save(f"{fact.title} {how}", body, by=caller)
        except RejectedClaim:
            tally.control(negative, name, f"taken: {how}", found=False)
            continue
        made.append(Control(caller=caller, query=body, id=note.id, says=says))
    return tuple(made)


def _case(
    negative: Negative,
    name: str,
    fact: Fact,
    then: str,
    *,
    ids: tuple[str, ...] = (),
    paths: tuple[str, ...] = (),
    controls: tuple[Control, ...] = (),
    believed: bool = False,
) -> Case:
    return Case(
        negative=negative,
        name=name,
        caller=ME,
        queries=(fact.says(fact.old), fact.question, f"{fact.title} {fact.old}"),
        marks=(fact.old,),
        ids=ids,
        paths=paths,
        allowed=frozenset({"known_at"} if believed else ()),
        then=then,
        controls=controls,
    )


def _first(house: House, tally: Tally, negative: Negative, name: str, fact: Fact) -> SaveReply:
    """The note with the value that will be rejected, found before it is."""
    note = house.save(fact.title, fact.says(fact.old))
    control = Control(caller=ME, query=fact.says(fact.old), id=note.id, says=fact.old)
    tally.control(negative, name, "before", found=found(house, control))
    return note


def build_rejected(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Values that a correction called wrong, then restated through every door in every guise.

    A host with a dash, a date, a person, a sum and a port: each guise is tried on one of them, the
    plain ones on all.
    """
    cases = []
    for turn in range(5):
        fact = facts.fact()
        name = f"corrected as wrong: {fact.attribute}"
        note = _first(house, tally, Negative.REJECTED, name, fact)
        then = house.now()
        fixed = house.correct(note, fact.says(fact.new), CorrectMode.WRONG)
        every = [guise for at, guise in enumerate(GUISES) if at % 5 == turn or guise in FEW]
        paths = restate(
            house,
            tally,
            Negative.REJECTED,
            name,
            fact.says(fact.old),
            guises=every,
            others=(agent(name="another"), person()) if turn == 0 else (),
        )
        _other_doors(house, tally, name, fact, fixed)
        controls = [
            Control(caller=ME, query=fact.title, id=note.id, says=fact.new),
            Control(caller=ME, query=fact.question, id=note.id, says=fact.new),
            Control(caller=ME, query=fact.says(fact.old), says=fact.old, held=then),
            *neighbours(house, tally, Negative.REJECTED, name, fact),
        ]
        found_case = _case(
            Negative.REJECTED, name, fact, then, paths=paths, controls=tuple(controls),
            believed=True,
        )  # fmt: skip
        cases.append(_without_negation(found_case, fact))
    return cases


def _without_negation(case: Case, fact: Fact) -> Case:
    """The negated neighbour holds the value too, so the mark is the value as it was stated."""
    return replace(case, marks=(f"is {fact.old}",))


def _other_doors(house: House, tally: Tally, name: str, fact: Fact, fixed: CorrectReply) -> None:
    """Correct the note back, correct another note to it, and state it in titles and sources."""
    statement = fact.says(fact.old)
    modes = {"correct back": CorrectMode.CHANGED, "amend back": CorrectMode.AMEND}
    for how, mode in modes.items():
        tally.probe(Negative.REJECTED, name, how, _corrected(house, fixed, statement, mode))
    beside = house.save(f"{fact.subject} lamp", f"The lamp of the {fact.subject} hangs low.")
    both = f"The lamp of the {fact.subject} hangs low. {statement}"
    how = "another note corrected to it"
    tally.probe(Negative.REJECTED, name, how, _corrected(house, beside, both, CorrectMode.AMEND))
    body = f"Nothing is written about the {fact.subject} oven."
    as_title = _saved(house, ME, statement, body)
    tally.probe(Negative.REJECTED, name, "as a title", as_title)
    as_source = _saved(house, ME, f"{fact.subject} oven", body, source=(statement,))
    tally.probe(Negative.REJECTED, name, "as a source", as_source)
    again = house.save(f"{fact.title} again", "Who knows it?", supersedes=(beside.id,))
    restated = _corrected(house, again, statement, CorrectMode.CHANGED)
    tally.probe(Negative.REJECTED, name, "after superseding another note", restated)


def _corrected(house: House, note: SaveReply | CorrectReply, body: str, mode: CorrectMode) -> str:
    try:
        reply = house.correct(note, body, mode)
    except RejectedClaim:
        return ""
    return f"taken: {reply.outcome}"


def build_retracted(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Notes and passages that were forgotten; the rest of a note stays, neighbours too."""
    makers: dict[str, Callable[[House, Tally, Fact, str], Case]] = {
        "a whole note": _whole_note,
        "a passage of a paragraph": _passage,
        "a passage that is a list item": _list_item,
        "a note that was superseded": _forgotten_after_replacement,
        "a note after a change": _forgotten_after_change,
        "a passage that an amendment kept": _kept_by_amendment,
        "a passage that a change kept": _kept_by_change,
        "a note of a file": _file_note,
    }
    return [make(house, tally, facts.fact(), name) for name, make in makers.items()]


def _forgotten(
    house: House,
    tally: Tally,
    fact: Fact,
    name: str,
    then: str,
    *,
    ids: tuple[str, ...] = (),
    controls: tuple[Control, ...] = (),
) -> Case:
    kind = Negative.RETRACTED
    paths = restate(house, tally, kind, name, fact.says(fact.old), guises=FEW)
    near = neighbours(house, tally, kind, name, fact)
    case = _case(
        kind, name, fact, then, ids=ids, paths=paths, controls=(*controls, *near),
        believed=not ids,
    )  # fmt: skip
    return _without_negation(case, fact)


def _whole_note(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = _first(house, tally, Negative.RETRACTED, name, fact)
    then = house.now()
    house.forget(note.id)
    return _forgotten(house, tally, fact, name, then, ids=(note.id,))


def _file_note(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    keys = {"title": fact.title}
    note_id = house.drop(f"{HERE}/{fact.slug}.md", fact.says(fact.old), keys=keys)
    control = Control(caller=ME, query=fact.says(fact.old), id=note_id, says=fact.old)
    tally.control(Negative.RETRACTED, name, "before", found=found(house, control))
    then = house.now()
    house.forget(note_id)
    return _forgotten(house, tally, fact, name, then, ids=(note_id,))


def _part(house: House, tally: Tally, fact: Fact, name: str, body: str) -> Case:
    """A note of two statements, of which the first is forgotten."""
    note = house.save(fact.title, body)
    control = Control(caller=ME, query=fact.says(fact.old), id=note.id, says=fact.old)
    tally.control(Negative.RETRACTED, name, "before", found=found(house, control))
    then = house.now()
    house.forget(note.id, passage=fact.says(fact.old))
    rest = Control(caller=ME, query=f"lamp of the {fact.subject}", id=note.id, says="hangs low")
    return _forgotten(house, tally, fact, name, then, controls=(rest,))


def _passage(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    rest = f"The lamp of the {fact.subject} hangs low."
    return _part(house, tally, fact, name, f"{fact.says(fact.old)} {rest}")


def _list_item(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    rest = f"The lamp of the {fact.subject} hangs low."
    return _part(house, tally, fact, name, f"- {fact.says(fact.old)}\n- {rest}")


def _kept_by_amendment(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    return _kept_by(house, tally, fact, name, CorrectMode.AMEND)


def _kept_by_change(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    return _kept_by(house, tally, fact, name, CorrectMode.CHANGED)


def _kept_by(house: House, tally: Tally, fact: Fact, name: str, mode: CorrectMode) -> Case:
    """Two versions state the passage; forgetting it in the second takes the first out of history."""
    statement = fact.says(fact.old)
    note = house.save(fact.title, f"{statement} The lamp of the {fact.subject} hung high.")
    then = house.now()
    body = f"{statement} The lamp of the {fact.subject} hangs low."
    changed = house.correct(note, body, mode)
    control = Control(caller=ME, query=statement, id=note.id, says=fact.old)
    tally.control(Negative.RETRACTED, name, "before", found=found(house, control))
    house.forget(changed.id, passage=statement)
    rest = Control(caller=ME, query=f"lamp of the {fact.subject}", id=note.id, says="hangs low")
    return _forgotten(house, tally, fact, name, then, controls=(rest,))


def _forgotten_after_replacement(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old = _first(house, tally, Negative.RETRACTED, name, fact)
    then = house.now()
    new = house.save(f"{fact.title} now", fact.says(fact.new), supersedes=(old.id,))
    house.forget(old.id)
    control = Control(caller=ME, query=fact.question, id=new.id, says=fact.new)
    return _forgotten(house, tally, fact, name, then, ids=(old.id,), controls=(control,))


def _forgotten_after_change(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    """The first version is gone with the note; what the last one said is what was rejected."""
    note = house.save(fact.title, fact.says(fact.new))
    then = house.now()
    changed = house.correct(note, fact.says(fact.old), CorrectMode.CHANGED)
    control = Control(caller=ME, query=fact.says(fact.old), id=note.id, says=fact.old)
    tally.control(Negative.RETRACTED, name, "before", found=found(house, control))
    house.forget(changed.id)
    return _forgotten(house, tally, fact, name, then, ids=(note.id,))


def build_purged(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Notes destroyed by a person, at once or on an agent's request, and one that waits for that.
    Whether bytes are left behind is proven by the tests, not probed here.
    """
    cases = []
    for name, purge in (
        ("by a person", _destroyed),
        ("asked for by an agent", _asked_for),
        ("asked for and approved", _approved),
    ):
        fact = facts.fact()
        note = _first(house, tally, Negative.PURGED, name, fact)
        then = house.now()
        tally.control(Negative.PURGED, name, "done as asked", found=purge(house, note))
        kind, statement = Negative.PURGED, fact.says(fact.old)
        paths = restate(house, tally, kind, name, statement, guises=FEW)
        near = neighbours(house, tally, kind, name, fact)
        case = _case(kind, name, fact, then, ids=(note.id,), paths=paths, controls=near)
        cases.append(_without_negation(case, fact))
    return cases


def _destroyed(house: House, note: SaveReply) -> bool:
    return house.forget(note.id, by=person(), mode=ForgetMode.PURGE).outcome == "purged"


def _asked_for(house: House, note: SaveReply) -> bool:
    house.forget(note.id, by=ME, mode=ForgetMode.PURGE)
    return _request(house, note) != ""


def _approved(house: House, note: SaveReply) -> bool:
    house.forget(note.id, by=ME, mode=ForgetMode.PURGE)
    decision = DecisionRequest(id=_request(house, note), disposition=Disposition.KEEP_NEW)
    return house.service.decide(person(), decision)["outcome"] == "approved"


def _request(house: House, note: SaveReply) -> str:
    """The review item of a purge that waits."""
    for item in house.service.reviews(person()):
        if (item["kind"], item["note_id"]) == ("purge_request", note.id):
            return str(item["review_id"])
    return ""


def build_near_duplicates(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Other notes that state what was retracted: those that come later are refused or withheld,
    those that were there are named in the reply and can be forgotten with it.
    """
    return [
        _stated_later(house, tally, facts.fact(), "stated in a longer note later"),
        _stated_before(house, tally, facts.fact(), "stated in other notes before"),
        _restored_twin(house, tally, facts.fact(), "a copy of the file made before"),
    ]


def _stated_later(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    kind, statement = Negative.NEAR_DUPLICATE, fact.says(fact.old)
    note = _first(house, tally, kind, name, fact)
    then = house.now()
    house.forget(note.id)
    paths = restate(house, tally, kind, name, statement, guises=GUISES)
    longer = (
        f"# Minutes of the {fact.subject}\n\nThe tea was cold. Nobody complained.\n\n"
        f"## Decisions\n\n- The lamp stays.\n- {statement}\n- The oven goes.\n"
    )
    refused = _saved(house, ME, f"Minutes of the {fact.subject}", longer)
    tally.probe(kind, name, "saved in the minutes", refused)
    minutes = f"{HERE}/minutes-{fact.slug}.md"
    house.write(minutes, longer)
    house.settle()
    near = neighbours(house, tally, kind, name, fact)
    paths = (*paths, minutes)
    case = _case(kind, name, fact, then, ids=(note.id,), paths=paths, controls=near)
    return _without_negation(case, fact)


def _stated_before(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    kind, statement = Negative.NEAR_DUPLICATE, fact.says(fact.old)
    note = _first(house, tally, kind, name, fact)
    twin = house.save(f"{fact.title} twin", f"A remark before it. {statement}")
    path = f"{HERE}/{fact.slug}-listed.md"
    listed = house.drop(path, f"- The tea was cold.\n- {statement}\n")
    other = house.save(f"{fact.title} other", fact.says(fact.new))
    then = house.now()
    reply = house.forget(note.id)
    named = {one.id for one in reply.also_stated_in}
    for how, one in (("a saved note", twin.id), ("a file", listed)):
        tally.probe(kind, name, f"named in the reply: {how}", "" if one in named else "not named")
    tally.probe(kind, name, "no other named", "named" if other.id in named else "")
    for one in (twin.id, listed):
        house.forget(one, passage=statement)
    kept = Control(caller=ME, query=fact.question, id=other.id, says=fact.new)
    near = neighbours(house, tally, kind, name, fact)
    case = _case(kind, name, fact, then, ids=(note.id,), controls=(kept, *near), believed=True)
    return _without_negation(case, fact)


def _restored_twin(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    """A copy of the file lay outside the vault; it comes back under another name."""
    kind = Negative.NEAR_DUPLICATE
    note = _first(house, tally, kind, name, fact)
    copy = house.file(note.path).read_text("utf-8")
    then = house.now()
    house.forget(note.id)
    path = f"{HERE}/{fact.slug}-copy.md"
    house.write(path, copy)
    house.settle()
    near = neighbours(house, tally, kind, name, fact)
    case = _case(kind, name, fact, then, paths=(path,), controls=near)
    return _without_negation(case, fact)
