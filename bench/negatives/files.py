"""Cases that a person makes by hand in the folder: files put back, and files taken away."""

from collections.abc import Callable

from bench.negatives.asking import found
from bench.negatives.cases import Case, Control, Negative
from bench.negatives.facts import Fact, Facts
from bench.negatives.house import HERE, THERE, VAULT, House, agent
from bench.negatives.tally import Tally
from memsvc.model.replies import SaveReply
from memsvc.model.vocabulary import CorrectMode

__all__ = ["build_deleted", "build_restored"]

ME = agent()


def _saved(house: House, tally: Tally, negative: Negative, name: str, fact: Fact) -> SaveReply:
    """A note that is found, before its file is touched."""
    note = house.save(fact.title, fact.says(fact.old))
    _control(house, tally, negative, name, fact, note.id)
    return note


def _control(
    house: House, tally: Tally, negative: Negative, name: str, fact: Fact, note_id: str
) -> None:
    control = Control(caller=ME, query=fact.says(fact.old), id=note_id, says=fact.old)
    tally.control(negative, name, "before", found=found(house, control))


def _beside(house: House, fact: Fact) -> Control:
    """Another statement about the same subject, which stays."""
    note = house.save(f"{fact.title} beside", fact.says(fact.new))
    return Control(caller=ME, query=fact.question, id=note.id, says=fact.new)


def build_restored(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Forgotten, corrected or replaced texts whose files come back from somewhere."""
    makers: dict[str, Callable[[House, Tally, Fact, str], Case]] = {
        "from the trash to its place": _from_trash,
        "from the trash to another name": _from_trash_elsewhere,
        "from the trash while the service was down": _from_trash_while_down,
        "the text alone by another name": _text_alone,
        "an old checkout after a correction": _old_checkout,
        "an old copy after a correction": _old_copy,
        "an old checkout after a passage was forgotten": _old_checkout_of_passage,
        "an old checkout of a replaced note": _old_checkout_of_replaced,
        "an old copy of a replaced note": _old_copy_of_replaced,
    }
    return [make(house, tally, facts.fact(), name) for name, make in makers.items()]


def _restored(
    house: House,
    name: str,
    fact: Fact,
    then: str,
    *,
    paths: tuple[str, ...] = (),
    controls: tuple[Control, ...] = (),
    allowed: tuple[str, ...] = (),
) -> Case:
    return Case(
        negative=Negative.RESTORED,
        name=name,
        caller=ME,
        queries=(fact.says(fact.old), f"{fact.title} {fact.old}"),
        marks=(fact.old,),
        paths=paths,
        then=then,
        allowed=frozenset(allowed),
        controls=controls or (_beside(house, fact),),
    )


def _from_trash(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = _saved(house, tally, Negative.RESTORED, name, fact)
    then = house.now()
    gone = house.forget(note.id)
    house.tick()
    house.file(gone.trash).rename(house.file(note.path))
    house.settle()
    return _restored(house, name, fact, then, paths=(note.path,))


def _from_trash_elsewhere(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = _saved(house, tally, Negative.RESTORED, name, fact)
    then = house.now()
    gone = house.forget(note.id)
    path = f"{HERE}/rescued/{fact.slug}.md"
    house.write(path, house.file(gone.trash).read_text("utf-8"))
    house.settle()
    return _restored(house, name, fact, then, paths=(path,))


def _from_trash_while_down(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = _saved(house, tally, Negative.RESTORED, name, fact)
    then = house.now()
    gone = house.forget(note.id)
    house.service.close()
    house.file(gone.trash).rename(house.file(note.path))
    house.restart()
    return _restored(house, name, fact, then, paths=(note.path,))


def _text_alone(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note = _saved(house, tally, Negative.RESTORED, name, fact)
    then = house.now()
    house.forget(note.id)
    path = f"{HERE}/imported-{fact.slug}.md"
    house.write(path, f"# {fact.title}\n\n{fact.says(fact.old)}\n")
    house.settle()
    return _restored(house, name, fact, then, paths=(path,))


def _corrected(
    house: House, tally: Tally, fact: Fact, name: str
) -> tuple[SaveReply, str, str, Control]:
    """A note corrected as wrong: it, its file's text before, the instant before, its neighbour."""
    note = _saved(house, tally, Negative.RESTORED, name, fact)
    before, then = house.file(note.path).read_text("utf-8"), house.now()
    house.correct(note, fact.says(fact.new), CorrectMode.WRONG)
    control = Control(caller=ME, query=fact.says(fact.old), id=note.id, says=fact.new)
    tally.control(Negative.RESTORED, name, "after the correction", found=found(house, control))
    return note, before, then, control


def _old_checkout(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note, before, then, _ = _corrected(house, tally, fact, name)
    house.write(note.path, before)
    house.settle()
    return _restored(house, name, fact, then, allowed=("known_at",))


def _old_copy(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    _, before, then, control = _corrected(house, tally, fact, name)
    path = f"{HERE}/{fact.slug}-backup.md"
    house.write(path, before)
    house.settle()
    allowed = ("known_at",)
    return _restored(house, name, fact, then, paths=(path,), controls=(control,), allowed=allowed)


def _old_checkout_of_passage(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    negative = Negative.RESTORED
    rest = f"The lamp of the {fact.subject} hangs low."
    note = house.save(fact.title, f"{fact.says(fact.old)} {rest}")
    _control(house, tally, negative, name, fact, note.id)
    before, then = house.file(note.path).read_text("utf-8"), house.now()
    house.forget(note.id, passage=fact.says(fact.old))
    control = Control(caller=ME, query=rest, id=note.id, says="hangs low")
    tally.control(negative, name, "the rest of it", found=found(house, control))
    house.write(note.path, before)
    house.settle()
    return _restored(house, name, fact, then, allowed=("known_at",))


def _replaced(
    house: House, tally: Tally, fact: Fact, name: str
) -> tuple[SaveReply, str, str, Control]:
    """A note superseded by save: it, its file's text before, the instant before, its successor."""
    note = _saved(house, tally, Negative.RESTORED, name, fact)
    before, then = house.file(note.path).read_text("utf-8"), house.now()
    new = house.save(f"{fact.title} now", fact.says(fact.new), supersedes=(note.id,))
    return (
        note,
        before,
        then,
        Control(caller=ME, query=fact.says(fact.old), id=new.id, says=fact.new),
    )


LOOKING_BACK = ("history", "as_of", "known_at")


def _old_checkout_of_replaced(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    """The old file says active again, while the file of its successor still says that it replaces it."""
    note, before, then, control = _replaced(house, tally, fact, name)
    house.write(note.path, before)
    house.settle()
    return _restored(house, name, fact, then, controls=(control,), allowed=LOOKING_BACK)


def _old_copy_of_replaced(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    """The replaced note's file was deleted, and an older copy of it comes back."""
    note, before, then, control = _replaced(house, tally, fact, name)
    house.file(note.path).unlink()
    house.settle()
    house.write(note.path, before)
    house.settle()
    return _restored(house, name, fact, then, controls=(control,), allowed=LOOKING_BACK)


def build_deleted(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Notes whose files went without a verb; each is found again when its file is put back."""
    ways: dict[str, Callable[[House, str], str]] = {
        "removed": _unlinked,
        "moved to the vault's trash": lambda house, path: _moved(house, path, f".trash/{path}"),
        "moved to a hidden folder": lambda house, path: _moved(house, path, f".aside/{path}"),
        "given another ending": lambda house, path: _moved(house, path, f"{path}.bak"),
        "left as a conflict copy only": lambda house, path: _moved(
            house, path, path.replace(".md", ".sync-conflict-20260601-101010-ABCDEFG.md")
        ),
        "removed while the service was down": _unlinked_while_down,
    }
    cases = []
    for name, take_away in ways.items():
        fact = facts.fact()
        note = _saved(house, tally, Negative.DELETED, name, fact)
        text, then = house.file(note.path).read_text("utf-8"), house.now()
        beside = _beside(house, fact)
        take_away(house, note.path)
        house.settle()
        back = Control(caller=ME, query=fact.says(fact.old), id=note.id, says=fact.old)
        cases.append(_deleted(name, fact, note, then, beside, _put_back(note.path, text, back)))
    cases.append(_back_elsewhere(house, tally, facts.fact(), "back in another project's folder"))
    return cases


def _deleted(
    name: str,
    fact: Fact,
    note: SaveReply,
    then: str,
    beside: Control,
    later: Callable[[House], bool] | None,
) -> Case:
    return Case(
        negative=Negative.DELETED,
        name=name,
        caller=ME,
        queries=(fact.says(fact.old), f"{fact.title} {fact.old}"),
        marks=(fact.old,),
        ids=(note.id,),
        then=then,
        controls=(beside,),
        later=later,
    )


def _unlinked(house: House, path: str) -> str:
    house.tick()
    house.file(path).unlink()
    return path


def _unlinked_while_down(house: House, path: str) -> str:
    house.service.close()
    house.file(path).unlink()
    house.restart()
    return path


def _moved(house: House, path: str, target: str) -> str:
    house.tick()
    place = house.file(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    house.file(path).rename(place)
    return target


def _put_back(path: str, text: str, control: Control) -> Callable[[House], bool]:
    def later(house: House) -> bool:
        house.write(path, text)
        house.settle()
        return found(house, control)

    return later


def _back_elsewhere(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    """Deleted here and, some time later, put into the folder of another project: it is theirs."""
    note = _saved(house, tally, Negative.DELETED, name, fact)
    text, then = house.file(note.path).read_text("utf-8"), house.now()
    beside = _beside(house, fact)
    _unlinked(house, note.path)
    house.settle()
    path = f"{THERE}/{fact.slug}.md"
    house.write(path, text, vault=VAULT)
    house.settle()
    theirs = Control(caller=agent(THERE), query=fact.says(fact.old), path=path, says=fact.old)
    tally.control(Negative.DELETED, name, "found there", found=found(house, theirs))
    return _deleted(name, fact, note, then, beside, None)
