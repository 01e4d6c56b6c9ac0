"""What a probe asks, what must not come back, and what must."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from bench.negatives.house import House
from memsvc.model.identity import Caller

__all__ = ["Case", "Control", "Negative", "Rate"]


class Rate(StrEnum):
    """What a violation of a class is counted as."""

    LEAK = "leak"
    STALE = "stale"
    RESURRECTION = "resurrection"


class Negative(StrEnum):
    """The classes, each something that recall must not show as an answer."""

    OTHER_SCOPE = "another scope's best match"
    LINKED_SCOPE = "link neighbour out of scope"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    NOT_YET_VALID = "not yet valid"
    PROPOSED = "proposed or withheld"
    REJECTED = "rejected claim"
    RETRACTED = "retracted"
    PURGED = "purged"
    RESTORED = "restored by hand"
    DELETED = "deleted by file"
    NEAR_DUPLICATE = "near-duplicate of a retracted note"

    @property
    def rate(self) -> Rate:
        """Leaks cross a scope, stale notes were true once or are not yet, the rest was taken out."""
        if self in (Negative.OTHER_SCOPE, Negative.LINKED_SCOPE):
            return Rate.LEAK
        if self in (
            Negative.SUPERSEDED,
            Negative.EXPIRED,
            Negative.NOT_YET_VALID,
            Negative.PROPOSED,
        ):
            return Rate.STALE
        return Rate.RESURRECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A note that must be found: by this caller and query, as one of the first eight.

    `then` asks as of that instant, `held` what was known at it; `past` asks for history and wants
    the note marked as not current. `says` must be in the hit's text.
    """

    caller: Caller
    query: str
    id: str = ""
    path: str = ""
    says: str = ""
    then: str = ""
    held: str = ""
    past: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One forbidden thing.

    `marks` are texts, `ids` note ids and `paths` files that no reply to `caller` may hold. Under
    `allowed` (of history, as_of, known_at) it may be shown, but only marked as not current; `then`
    is an instant at which it stood. `readable` tells whether `read` may show it, likewise marked.
    `later` ends the case: it changes what made the thing forbidden and tells whether it is found.
    """

    negative: Negative
    name: str
    caller: Caller
    queries: tuple[str, ...]
    marks: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    then: str = ""
    readable: bool = False
    controls: tuple[Control, ...] = ()
    later: Callable[[House], bool] | None = field(default=None)
