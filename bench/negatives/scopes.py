"""Cases of other scopes: another project's or vault's best match, and neighbours that links lead to."""

from collections.abc import Callable

from bench.negatives.cases import Case, Control, Negative
from bench.negatives.facts import Fact, Facts
from bench.negatives.house import (
    HERE,
    OTHER_VAULT,
    TAG,
    THERE,
    VAULT,
    House,
    agent,
)
from bench.negatives.tally import Tally
from memsvc.errors import MemsvcError, NotFound
from memsvc.model.identity import Caller
from memsvc.model.replies import SaveReply, as_data
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    ReadRequest,
    RecallRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import CorrectMode

__all__ = ["build_linked_scope", "build_other_scope"]


def build_other_scope(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Notes that answer best and belong to another project, or another vault's project of the same
    name; counts must not move, and no verb aimed at them may tell that they exist.
    """
    return [
        _foreign(house, tally, facts.fact(), name, owner, by_file=by_file)
        for name, owner, by_file in (
            ("saved in another project", agent(THERE), False),
            ("file of another project", agent(THERE), True),
            ("saved in another vault", agent(HERE, vault=OTHER_VAULT), False),
            ("file of another vault", agent(HERE, vault=OTHER_VAULT), True),
            ("shared of another vault", agent("shared", vault=OTHER_VAULT), True),
        )
    ]


def _foreign(
    house: House, tally: Tally, fact: Fact, name: str, owner: Caller, *, by_file: bool
) -> Case:
    negative, mine = Negative.OTHER_SCOPE, agent()
    own = house.save(fact.title, fact.says(fact.new))
    before = _counted(house, fact)
    statement = fact.says(fact.old)
    if by_file:
        path = f"{owner.project}/{fact.slug}.md"
        note_id = house.drop(path, f"# {fact.title}\n\n{statement}", vault=owner.vault)
    else:
        note_id = house.save(fact.title, statement, by=owner).id
    after = _counted(house, fact)
    tally.probe(negative, name, "counts", "" if before == after else "coverage or scores moved")
    case = Case(
        negative=negative,
        name=name,
        caller=mine,
        queries=(statement, fact.question, f"{fact.title} {fact.old}"),
        marks=(fact.old,),
        ids=(note_id,),
        then=house.now(),
        controls=(
            Control(caller=owner, query=statement, id=note_id, says=fact.old),
            Control(caller=mine, query=statement, id=own.id, says=fact.new),
        ),
    )
    for how, problem in _aimed(house, case, owner, fact):
        tally.probe(negative, name, how, problem)
    return case


def _counted(house: House, fact: Fact) -> object:
    """What a reply counts and scores, which notes of other scopes must not move."""
    request = RecallRequest(query=fact.says(fact.old), explain=True)
    reply = house.ask(agent(), request)
    hits = [(hit.id, hit.score, hit.explain["words"]) for hit in reply.hits]
    terms = reply.explain["terms"]
    return hits, terms, reply.coverage.indexed, reply.coverage.withheld, reply.coverage.waiting


def _aimed(house: House, case: Case, owner: Caller, fact: Fact) -> list[tuple[str, str]]:
    """Verbs of a caller of this project, aimed at the note by its id and at its scope by name."""
    service, mine, note_id = house.service, case.caller, case.ids[0]
    body = f"Nobody knows the {fact.attribute} yet."
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: service.read(mine, ReadRequest(id=note_id)),
        "correct": lambda: service.correct(
            mine, CorrectRequest(id=note_id, version=1, mode=CorrectMode.WRONG, body=body)
        ),
        "correct a stale version": lambda: service.correct(
            mine, CorrectRequest(id=note_id, version=7, mode=CorrectMode.AMEND, body=body)
        ),
        "forget": lambda: service.forget(mine, ForgetRequest(id=note_id)),
        "supersede": lambda: service.save(
            mine, SaveRequest(title=fact.title, body=body, supersedes=(note_id,))
        ),
        "recall by scope": lambda: service.recall(
            mine,
            RecallRequest(query=fact.says(fact.old), vault=owner.vault, project=owner.project),
        ),
    }
    if owner.project == HERE and owner.vault == VAULT:
        raise ValueError("the owner must have another scope than the caller")
    found = []
    for how, call in calls.items():
        try:
            call()
        except NotFound as error:
            found.append((how, _told(error, case)))
        else:
            found.append((how, "answered"))
    kept = _saved_beside(house, case, fact)
    return [*found, ("similar of a save", kept)]


def _told(error: MemsvcError, case: Case) -> str:
    text = f"{error.message} {error.data}".casefold()
    return next((f"'{mark}'" for mark in (*case.marks, *case.ids) if mark.casefold() in text), "")


def _saved_beside(house: House, case: Case, fact: Fact) -> str:
    """Whether the reply to a save names a close note of another scope."""
    reply = house.save(f"{fact.title} asked", f"Who knows the {fact.attribute} of {fact.subject}?")
    text = str(as_data(reply)).casefold()
    return "named in similar" if any(one.casefold() in text for one in case.ids) else ""


def build_linked_scope(house: House, tally: Tally, facts: Facts) -> list[Case]:
    """Notes of another project that links lead to, both ways, by frontmatter and over `shared`."""
    makers = {
        "a link to it by file name": _link_by_name,
        "a link to it by path": _link_by_path,
        "a link from it": _link_from_it,
        "a relation in frontmatter": _link_by_key,
        "a link from a shared note": _link_from_shared,
        "two links over a shared note": _two_links,
        "it claims to replace this one": _claims_to_replace,
        "this one names it as successor": _names_as_successor,
    }
    return [make(house, tally, facts.fact(), name) for name, make in makers.items()]


def _there(house: House, fact: Fact, extra: str = "", **keys: str) -> tuple[str, str]:
    """A note of the other project: its id and its file's name without ending."""
    stem = f"{fact.slug}-there"
    keys = {"title": f"{fact.title} there", **keys}
    return house.drop(f"{THERE}/{stem}.md", f"{fact.says(fact.old)}{extra}", keys=keys), stem


def _linked(
    house: House,
    tally: Tally,
    fact: Fact,
    name: str,
    *,
    note_id: str,
    own: str,
    shown: bool = True,
    reads: tuple[str, ...] = (),
) -> Case:
    """The case of a note `note_id` there and one here with the id `own`, linked in some way."""
    negative = Negative.LINKED_SCOPE
    for one in (own, *reads):
        view = house.service.read(agent(), ReadRequest(id=one))
        ends = [*view.links_out, *view.links_in]
        seen = [end.scope for end in ends if end.id == note_id or end.scope.endswith(THERE)]
        named = note_id in (*view.supersedes, view.superseded_by)
        tally.probe(negative, name, "links of read", "named" if seen or named else "")
    controls = [
        Control(caller=agent(THERE), query=fact.says(fact.old), id=note_id, says=fact.old),
    ]
    if shown:
        query = f"{fact.says(fact.new)} {fact.old}"
        controls.append(Control(caller=agent(), query=query, id=own, says=fact.new))
    return Case(
        negative=negative,
        name=name,
        caller=agent(),
        queries=(f"{fact.says(fact.new)} {fact.old}", fact.says(fact.old)),
        marks=(fact.old,),
        ids=(note_id,),
        then=house.now(),
        controls=tuple(controls),
    )


def _here(house: House, fact: Fact, extra: str, *, project: str = HERE, **keys: str) -> str:
    """A note of this project or of `shared` by file: its id."""
    keys = {"title": fact.title, **keys}
    return house.drop(f"{project}/{fact.slug}.md", f"{fact.says(fact.new)}{extra}", keys=keys)


def _link_by_name(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _there(house, fact)
    own = _here(house, fact, f" See [[{stem}]].")
    return _linked(house, tally, fact, name, note_id=note_id, own=own)


def _link_by_path(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _there(house, fact)
    own = _here(house, fact, f" See [[{THERE}/{stem}]] and [it](../{THERE}/{stem}.md).")
    return _linked(house, tally, fact, name, note_id=note_id, own=own)


def _link_from_it(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    neighbour = house.save(f"{fact.title} next", f"Next to {fact.subject} stands a lamp.")
    stem = neighbour.path.rpartition("/")[2].removesuffix(".md")
    own = _here(house, fact, f" See [[{stem}]].")
    view = house.service.read(agent(), ReadRequest(id=own))
    linked = [end.id for end in view.links_out] == [neighbour.id]
    tally.control(Negative.LINKED_SCOPE, name, "the link inside the project", found=linked)
    own_stem = view.path.removesuffix(".md")
    note_id, _ = _there(house, fact, f" See [[{own_stem}]].")
    return _linked(house, tally, fact, name, note_id=note_id, own=own)


def _link_by_key(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _there(house, fact)
    own = _here(house, fact, "", related=f'"[[{THERE}/{stem}]]"')
    return _linked(house, tally, fact, name, note_id=note_id, own=own)


def _link_from_shared(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _there(house, fact)
    own = _here(house, fact, f" See [[{THERE}/{stem}]].", project="shared")
    ends = house.service.read(agent(THERE), ReadRequest(id=own)).links_out
    linked = [end.id for end in ends] == [note_id]
    tally.control(Negative.LINKED_SCOPE, name, "the same link, read from there", found=linked)
    return _linked(house, tally, fact, name, note_id=note_id, own=own)


def _two_links(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _there(house, fact)
    bridge: SaveReply = house.save(
        f"{fact.subject} bridge",
        f"The bridge of {fact.subject} leads on to [[{THERE}/{stem}]].",
        by=agent("shared"),
    )
    bridge_stem = bridge.path.removesuffix(".md")
    own = _here(house, fact, f" See [[{bridge_stem}]].")
    ends = house.service.read(agent(), ReadRequest(id=own)).links_out
    linked = [end.id for end in ends] == [bridge.id]
    tally.control(Negative.LINKED_SCOPE, name, "the link to the shared note", found=linked)
    return _linked(house, tally, fact, name, note_id=note_id, own=own, reads=(bridge.id,))


def _claims_to_replace(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    own = _here(house, fact, "")
    path = house.service.read(agent(), ReadRequest(id=own)).path.removesuffix(".md")
    note_id, _ = _there(house, fact, supersedes=f'"[[{path}]]"')
    return _linked(house, tally, fact, name, note_id=note_id, own=own)


def _names_as_successor(house: House, tally: Tally, fact: Fact, name: str) -> Case:
    note_id, stem = _there(house, fact)
    keys = {"status": "superseded", "superseded_by": f'"[[{THERE}/{stem}]]"', "aliases": f"[{TAG}]"}
    own = _here(house, fact, "", **keys)
    tally.control(
        Negative.LINKED_SCOPE,
        name,
        "the note here, as history",
        found=house.service.read(agent(), ReadRequest(id=own)).status == "superseded",
    )
    return _linked(house, tally, fact, name, note_id=note_id, own=own, shown=False)
