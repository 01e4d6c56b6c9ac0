"""Anchoring the audit: the head of the chain written down outside, and the database held against it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection

from memsvc.database import Database
from memsvc.errors import InvalidInput, MemsvcError, Misconfigured, StorageFailed
from memsvc.ledger import anchor_git, anchor_places, chain, registry
from memsvc.ledger.anchor import Anchor, Finding, SigningKey, judge, same_key, words
from memsvc.ledger.anchor_places import Contents, Place
from memsvc.ledger.chain import Verdict
from memsvc.model.identity import Caller
from memsvc.model.replies import Json
from memsvc.service import access
from memsvc.service.home import Home

__all__ = ["Checked", "anchor", "check_anchors", "places_without", "rest_of", "signed"]

_FILE = "anchors.jsonl"
_LOCK_SECONDS = 60
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Checked:
    """What one place's anchors showed; `newest` is the last anchor of this database there."""

    place: Place
    anchors: int
    newest: Anchor | None
    problems: tuple[str, ...]
    notices: tuple[str, ...]

    def as_json(self) -> dict[str, Json]:
        """As the replies carry it."""
        return {
            "place": str(self.place),
            "ok": not self.problems,
            "anchors": self.anchors,
            "seq": self.newest.seq if self.newest else 0,
            "at": self.newest.at if self.newest else "",
            "problems": list(self.problems),
            "notices": list(self.notices),
        }


# -- verifying -----------------------------------------------------------------------------


def check_anchors(
    connection: Connection,
    home: Home,
    verdict: Verdict,
    *,
    files: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> list[Checked]:
    """Hold the database against the given files and every place that this home anchored to.

    The repositories of registered vaults are looked at too, whether or not the home's own list
    names them: that list may be as old as the database. Raises InvalidInput for an unusable key,
    Misconfigured for a home whose key or list cannot be read.
    """
    pinned = frozenset(_key(text) for text in keys)
    own = SigningKey.open(home.signing_key)
    known = pinned or (frozenset({own.public}) if own else frozenset())
    looked: dict[Place, bool] = {
        Place("file", str(Path(text).expanduser().absolute())): True for text in files
    }
    looked |= dict.fromkeys(anchor_places.listed(home.anchors), True)
    for vault in registry.vaults(connection):
        looked.setdefault(Place("git", vault.path), False)

    def look(one: Anchor) -> Finding:
        return judge(connection, one, verdict, keys=known, pinned=bool(pinned))

    found = (_check(place, verdict, look, expected=expected) for place, expected in looked.items())
    return [one for one in found if one is not None]


def _check(
    place: Place, verdict: Verdict, look: Callable[[Anchor], Finding], *, expected: bool
) -> Checked | None:
    """One place; None for one that nobody expects to hold anything of this database."""
    try:
        contents = _contents(place)
    except (OSError, MemsvcError) as error:
        if not expected:
            return None
        why = error.message if isinstance(error, MemsvcError) else _gone(error)
        return Checked(place, 0, None, (f"{place}: {why}",), ())
    findings = [(one, look(one)) for one in contents.anchors]
    ours = [one for one, finding in findings if finding is not Finding.FOREIGN]
    if not ours and not expected:
        return None
    problems = [*contents.problems]
    wrong = [(one, finding) for one, finding in findings if finding not in _HARMLESS]
    problems += [words(finding, one, verdict) for one, finding in wrong[-_MOST_PROBLEMS:]]
    if len(wrong) > _MOST_PROBLEMS:
        problems.append(f"{len(wrong) - _MOST_PROBLEMS} older anchors do not agree either")
    if not ours:
        problems.append("no anchor there is of this database")
    foreign = len(findings) - len(ours)
    notices = [f"{foreign} anchors of other databases were passed over"] if foreign else []
    newest = max(ours, key=lambda one: one.seq) if ours else None
    told = tuple(f"{place}: {problem}" for problem in problems)
    return Checked(place, len(ours), newest, told, tuple(notices))


_HARMLESS = (Finding.AGREES, Finding.FOREIGN)


def _contents(place: Place) -> Contents:
    if place.kind == "git":
        found = anchor_git.committed(Path(place.path))
        if found is None:
            raise Misconfigured("the anchors that were committed there are gone")
        return found
    return anchor_places.read(Path(place.path))


def _gone(error: OSError) -> str:
    why = "is gone" if isinstance(error, FileNotFoundError) else f"fails: {error.strerror}"
    return (
        f"the anchor file {why}; put it back, or stop looking for it with "
        "`memsvc audit anchor --forget`"
    )


def _key(text: str) -> str:
    try:
        return same_key(text)
    except ValueError as error:
        raise InvalidInput(
            "a key is written ed25519: and 64 hex digits, as `memsvc audit anchor` shows it",
            argument="key",
        ) from error


# -- anchoring -----------------------------------------------------------------------------


def anchor(
    home: Home, database: Database, caller: Caller, *, at: str, to: str = "", git: bool = False
) -> dict[str, Json]:
    """Write the head down in the home's own file and in each place asked for.

    A chain that is broken or does not agree with an older anchor is not anchored. Raises
    InvalidInput, Misconfigured, StorageFailed; what was written before that stays.
    """
    file = _outside(home, to) if to else None
    with _alone(home):
        with database.read() as connection:
            verdict = _sound(connection, home)
            vault = access.vault_of(connection, caller)
        database.sync()
        home.anchors.mkdir(exist_ok=True, mode=0o700)
        key = SigningKey.open(home.signing_key) or SigningKey.make(home.signing_key)
        made = key.anchor(verdict, at=at)
        own = home.anchors / _FILE
        written = [_in_file(home, own, made)]
        if file is not None:
            written.append(_in_file(home, file, made))
        if git:
            written.append(_in_git(home, Path(vault.path), f"{key.name}.jsonl", made))
    return {
        "seq": made.seq,
        "hash": made.hash,
        "at": made.at,
        "database": made.database,
        "key": f"ed25519:{made.key}",
        "places": list[Json](written),
        "outside": file is not None or git,
    }


def signed(home: Home, verdict: Verdict, *, at: str) -> Anchor:
    """The head that `verdict` found as an anchor that is written nowhere yet.

    The home's signing key is made if it is missing. Raises Misconfigured, StorageFailed.
    """
    with _alone(home):
        key = SigningKey.open(home.signing_key) or SigningKey.make(home.signing_key)
        return key.anchor(verdict, at=at)


def places_without(home: Home, text: str) -> tuple[Place, list[Place]]:
    """The listed place that `text` names, by path, and the others. Raises InvalidInput."""
    listed = anchor_places.listed(home.anchors)
    path = str(Path(text).expanduser().absolute())
    named = [one for one in listed if text == str(one) or one.path == path]
    if len(named) != 1:
        known = "; ".join(str(one) for one in listed) or "none"
        raise InvalidInput(
            f"that is not one place with anchors; the known ones: {known}", argument="forget"
        )
    return named[0], [one for one in listed if one != named[0]]


@contextmanager
def rest_of(home: Home, text: str) -> Iterator[Place]:
    """Take a place off the list when the block ends well; nobody else anchors meanwhile."""
    with _alone(home):
        gone, rest = places_without(home, text)
        yield gone
        anchor_places.remember(home.anchors, rest)


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    try:
        with FileLock(home.anchor_lock, timeout=_LOCK_SECONDS):
            yield
    except Timeout as error:
        raise StorageFailed("another process is anchoring; repeat the call") from error


def _sound(connection: Connection, home: Home) -> Verdict:
    verdict = chain.verify(connection)
    checked = check_anchors(connection, home, verdict)
    problems = [*verdict.problems, *(problem for one in checked for problem in one.problems)]
    if problems:
        raise Misconfigured(
            f"nothing was anchored, because the audit does not hold: {problems[0]}; "
            "see `memsvc audit verify`",
            problems=problems,
        )
    if not verdict.events:
        raise InvalidInput("there is no event yet, so there is nothing to anchor")
    return verdict


def _outside(home: Home, text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if path.is_dir() or text.endswith(("/", "\\")):
        raise InvalidInput("--to names a file, and that is a folder", argument="to")
    if not path.parent.is_dir():
        raise InvalidInput("the folder of that file is not there; make it first", argument="to")
    if path.suffix.lower() == ".md":
        raise InvalidInput("a file of anchors is no note; end its name in .jsonl", argument="to")
    if path.resolve().is_relative_to(home.anchors.resolve()):
        raise InvalidInput(
            "that folder is the home's own, which has its anchors already; name a file outside",
            argument="to",
        )
    return path


def _in_file(home: Home, path: Path, made: Anchor) -> dict[str, Json]:
    added = anchor_places.append(path, made)
    place = Place("file", str(path))
    _list(home, [place])
    return {"place": str(place), "added": added}


def _in_git(home: Home, folder: Path, name: str, made: Anchor) -> dict[str, Json]:
    done = anchor_git.commit(folder, name, made)
    place = Place("git", str(folder))
    _list(home, [place])
    return {"place": str(place), "added": done.made, "commit": done.id, "branch": done.branch}


def _list(home: Home, places: Iterable[Place]) -> None:
    known = anchor_places.listed(home.anchors)
    if not set(places) <= set(known):
        anchor_places.remember(home.anchors, [*known, *places])
