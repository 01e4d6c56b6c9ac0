"""Cases of notes that were true once, are not yet, or wait for a person's word."""

import hashlib
from collections.abc import Callable

from bench.negatives.asking import found
from bench.negatives.cases import Case, Control, Negative
from bench.negatives.facts import Fact, Facts
from bench.negatives.house import HERE, House, agent, note_text
from bench.negatives.tally import Tally
from memsvc.model.vocabulary import CorrectMode

__all__ = ["build_expired", "build_not_yet_valid", "build_proposed", "build_superseded"]

LOOKING_BACK = frozenset({"history", "as_of", "known_at"})
LONG = 400
"""Days: further ahead or back than anything else here."""


def _asks(fact: Fact) -> tuple[str, ...]:
    return fact.says(fact.old), fact.question


def _before(house: House, tally: Tally, negative: Negative, name: str, control: Control) -> None:
    """The same query found the note while nothing forbade it."""
    tally.control(negative, name, "before", found=found(house, control))


def _file(
    house: House, fact: Fact, value: str, *, suffix: str = "", **keys: str
) -> tuple[str, str]:
    """A hand-written note: its id, and its file's name without ending."""
    stem = f"{fact.slug}{suffix}"
    keys = {"title": fact.title, **keys}
    return house.drop(f"{HERE}/{stem}.md", fact.says(value), keys=keys), stem


def build_superseded(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Replaced notes and versions: a query for the old text gets what took its place."""
    makers: dict[str, Callable[[House, Tally, Fact, str], Case]] = {
        "save(supersedes)": _by_save,
        "save(supersedes), twice": _by_two_saves,
        "superseded_by in the old file": _by_old_file,
        "supersedes in the new file": _by_new_file,
        "correct changed": _by_changed,
        "correct amend": _by_amend,
        "the file edited": _by_edit,
        "and the successor was forgotten": _successor_forgotten,
        "and the successor's file was deleted": _successor_deleted,
    }
    return [make(house, tally, facts.fact(), name) for name, make in makers.items()]


def _superseded(
    name: str,
    fact: Fact,
    then: str,
    *,
    old: str = "",
    new: str = "",
    more: tuple[Control, ...] = (),
    says: str = "",
) -> Case:
    me = agent()
    controls = list(more)
    if new:
        wanted = says or fact.new
        controls += [Control(caller=me, query=ask, id=new, says=wanted) for ask in _asks(fact)]
    return Case(
        negative=Negative.SUPERSEDED,
        name=name,
        caller=me,
        queries=_asks(fact),
        marks=(fact.old,),
        ids=(old,) if old else (),
        allowed=LOOKING_BACK,
        then=then,
        readable=True,
        controls=tuple(controls),
    )


def _past(fact: Fact, note_id: str) -> Control:
    return Control(caller=agent(), query=fact.says(fact.old), id=note_id, says=fact.old, past=True)


def _then(fact: Fact, note_id: str, then: str) -> Control:
    return Control(caller=agent(), query=fact.says(fact.old), id=note_id, says=fact.old, then=then)


def _current(fact: Fact, note_id: str) -> Control:
    return Control(caller=agent(), query=fact.says(fact.old), id=note_id, says=fact.old)


def _by_save(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old = house.save(fact.title, fact.says(fact.old))
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, old.id))
    then = house.now()
    new = house.save(f"{fact.title} now", fact.says(fact.new), supersedes=(old.id,))
    more = (_past(fact, old.id), _then(fact, old.id, then))
    return _superseded(name, fact, then, old=old.id, new=new.id, more=more)


def _by_two_saves(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old = house.save(fact.title, fact.says(fact.old))
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, old.id))
    then = house.now()
    middle = house.save(f"{fact.title} then", "It was put off.", supersedes=(old.id,))
    new = house.save(f"{fact.title} now", fact.says(fact.new), supersedes=(middle.id,))
    return _superseded(name, fact, then, old=old.id, new=new.id, more=(_past(fact, old.id),))


def _by_old_file(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old, stem = _file(house, fact, fact.old)
    new, new_stem = _file(house, fact, fact.new, suffix="-now")
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, old))
    then = house.now()
    keys = {"id": old, "title": fact.title, "superseded_by": f'"[[{new_stem}]]"'}
    text = note_text(fact.says(fact.old), **keys, status="superseded")
    house.write(f"{HERE}/{stem}.md", text)
    house.settle()
    return _superseded(name, fact, then, old=old, new=new, more=(_past(fact, old),))


def _by_new_file(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old, stem = _file(house, fact, fact.old)
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, old))
    then = house.now()
    new, _ = _file(house, fact, fact.new, suffix="-now", supersedes=f'"[[{stem}]]"')
    more = (_past(fact, old), _then(fact, old, then))
    return _superseded(name, fact, then, old=old, new=new, more=more)


def _by_changed(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = house.save(fact.title, fact.says(fact.old))
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, note.id))
    then = house.now()
    house.correct(note, fact.says(fact.new), CorrectMode.CHANGED)
    more = (_past(fact, note.id), _then(fact, note.id, then))
    return _superseded(name, fact, then, new=note.id, more=more)


def _by_amend(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = house.save(fact.title, fact.says(fact.old))
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, note.id))
    then = house.now()
    house.correct(note, fact.says(fact.new), CorrectMode.AMEND)
    return _superseded(name, fact, then, new=note.id, more=(_past(fact, note.id),))


def _by_edit(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _file(house, fact, fact.old)
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, note_id))
    then = house.now()
    text = note_text(fact.says(fact.new), id=note_id, title=fact.title)
    house.write(f"{HERE}/{stem}.md", text)
    house.settle()
    return _superseded(name, fact, then, new=note_id, more=(_past(fact, note_id),))


def _successor_forgotten(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old = house.save(fact.title, fact.says(fact.old))
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, old.id))
    then = house.now()
    new = house.save(f"{fact.title} now", fact.says(fact.new), supersedes=(old.id,))
    house.forget(new.id)
    return _superseded(name, fact, then, old=old.id, more=(_past(fact, old.id),))


def _successor_deleted(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    old = house.save(fact.title, fact.says(fact.old))
    _before(house, tally, Negative.SUPERSEDED, name, _current(fact, old.id))
    then = house.now()
    new = house.save(f"{fact.title} now", fact.says(fact.new), supersedes=(old.id,))
    house.file(new.path).unlink()
    house.settle()
    return _superseded(name, fact, then, old=old.id, more=(_past(fact, old.id),))


def build_expired(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Statements whose valid time has ended, said at once or reached while the service runs."""
    ended, begun = house.day(-30), house.day(-LONG)
    then = house.now_plus(-100)
    cases = []
    for name, by_file in (("saved with valid_to", False), ("valid_to in a file", True)):
        fact = facts.fact()
        if by_file:
            note_id, _ = _file(house, fact, fact.old, valid_from=begun, valid_to=ended)
        else:
            saved = house.save(fact.title, fact.says(fact.old), valid=(begun, ended))
            note_id = saved.id
        cases.append(_expired(house, fact, name, note_id, then))
    fact = facts.fact()
    note = house.save(fact.title, fact.says(fact.old), valid=(begun, ""))
    changed = house.correct(note, fact.says(fact.new), CorrectMode.CHANGED, effective=ended)
    controls = (Control(caller=agent(), query=fact.says(fact.old), id=changed.id, says=fact.new),)
    cases.append(_expired(house, fact, "bounded by a backdated change", "", then, more=controls))
    cases.append(_expiring(house, tally, facts.fact()))
    return cases


def _expired(
    house: House, fact: Fact, name: str, note_id: str, then: str, more: tuple[Control, ...] = ()
) -> Case:
    beside = house.save(f"{fact.subject} lamp", f"The lamp of the {fact.subject} is {fact.other}.")
    me = agent()
    query = f"The lamp of the {fact.subject} is {fact.other}."
    return Case(
        negative=Negative.EXPIRED,
        name=name,
        caller=me,
        queries=_asks(fact),
        marks=(fact.old,),
        ids=(note_id,) if note_id else (),
        allowed=frozenset({"history", "as_of"}),
        then=then,
        readable=True,
        controls=(
            *more,
            Control(caller=me, query=query, id=beside.id),
            Control(caller=me, query=fact.says(fact.old), says=fact.old, then=then),
            Control(caller=me, query=fact.says(fact.old), says=fact.old, past=True),
        ),
    )


def _expiring(house: House, tally: Tally, fact: Fact) -> Case:
    """True for one more day, asked for once, and then the day passes without any write."""
    name = "ran out while the service ran"
    ends = house.now_plus(1)
    note = house.save(fact.title, fact.says(fact.old), valid=(house.day(-LONG), ends))
    then = house.now_plus(-100)
    case = _expired(house, fact, name, note.id, then)
    _before(house, tally, Negative.EXPIRED, name, _current(fact, note.id))
    house.tick(days=1.5)
    return case


def build_not_yet_valid(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Statements that will be true; each is found as of then, and when its time has come."""
    begins = house.day(LONG)
    then = house.now_plus(LONG + 30)
    saved_fact, file_fact, changed_fact = facts.fact(), facts.fact(), facts.fact()
    saved = house.save(saved_fact.title, saved_fact.says(saved_fact.old), valid=(begins, ""))
    by_file, _ = _file(house, file_fact, file_fact.old, valid_from=begins)
    note = house.save(changed_fact.title, changed_fact.says(changed_fact.new))
    new_text = changed_fact.says(changed_fact.old)
    changed = house.correct(note, new_text, CorrectMode.CHANGED, effective=begins)
    tally.control(
        Negative.NOT_YET_VALID,
        "changed from a day to come",
        "what still holds",
        found=found(
            house, Control(caller=agent(), query=new_text, id=note.id, says=changed_fact.new)
        ),
    )
    return [
        _coming("saved with valid_from", saved_fact, saved.id, then, ids=(saved.id,)),
        _coming("valid_from in a file", file_fact, by_file, then, ids=(by_file,)),
        _coming("changed from a day to come", changed_fact, changed.id, then, ids=()),
    ]


def _coming(name: str, fact: Fact, note_id: str, then: str, *, ids: tuple[str, ...]) -> Case:
    when_come = _current(fact, note_id)
    return Case(
        negative=Negative.NOT_YET_VALID,
        name=name,
        caller=agent(),
        queries=_asks(fact),
        marks=(fact.old,),
        ids=ids,
        allowed=frozenset({"as_of", "known_at"}),
        then=then,
        readable=True,
        controls=(_then(fact, note_id, then),),
        later=lambda house: _once_come(house, when_come),
    )


def _once_come(house: House, control: Control) -> bool:
    house.tick(days=LONG + 60)
    return found(house, control)


_CREDENTIAL = f"ghp_{hashlib.sha256(b'no credential').hexdigest()[:36]}"
"""Looks like one and is none; made here, so that no scanner of this file takes it for one."""


def build_proposed(house: House, _tally: Tally, facts: Facts) -> list[Case]:
    """Files that say they wait for review, and files that the policy withholds. No verb proposes
    yet: the reviewed policy comes with a later version. Each is found once its file says active.
    """
    kinds = {
        "status: proposed": ({"status": "proposed"}, ""),
        "status: disputed": ({"status": "disputed"}, ""),
        "status: rejected": ({"status": "rejected"}, ""),
        "status: retracted": ({"status": "retracted"}, ""),
        "a credential in it": ({}, f"\n\n    {_CREDENTIAL}"),
        "a recall reply in it": ({}, '\n\n<recalled-notes scope="x" count="0">'),
    }
    cases = []
    for name, (keys, extra) in kinds.items():
        fact = facts.fact()
        statement = fact.says(fact.old)
        path = f"{HERE}/{fact.slug}.md"
        note_id = house.drop(path, f"{statement}{extra}", keys={"title": fact.title, **keys})
        beside = house.save(f"{fact.title} beside", fact.says(fact.new))
        open_text = note_text(statement, id=note_id, title=fact.title, status="active")
        cases.append(
            Case(
                negative=Negative.PROPOSED,
                name=name,
                caller=agent(),
                queries=_asks(fact),
                marks=(fact.old,),
                ids=(note_id,),
                paths=(path,),
                then=house.now(),
                readable=True,
                controls=(Control(caller=agent(), query=fact.says(fact.new), id=beside.id),),
                later=_opened(path, open_text, _current(fact, note_id)),
            )
        )
    return cases


def _opened(path: str, text: str, control: Control) -> Callable[[House], bool]:
    def later(house: House) -> bool:
        house.write(path, text)
        house.settle()
        return found(house, control)

    return later
