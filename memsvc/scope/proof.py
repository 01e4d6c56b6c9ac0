"""Scopes that prove a permission; only `memsvc.scope.policy` makes them."""

from dataclasses import dataclass, field

from memsvc.model.identity import Caller, Scope
from memsvc.model.vocabulary import Role

__all__ = ["ReadScope", "WriteScope", "stamp_of"]


class _Stamp:
    """What only the policy holds: a scope without it cannot be built."""


_STAMP = _Stamp()


def stamp_of(policy: str) -> _Stamp:
    """The stamp, for the one module that may issue scopes."""
    if policy != "memsvc.scope.policy":
        raise PermissionError("only memsvc.scope.policy issues scopes")
    return _STAMP


@dataclass(frozen=True, slots=True)
class ReadScope:
    """The scopes one caller may read; an empty one reads nothing. There is no value for "all"."""

    scopes: tuple[Scope, ...]
    caller: Caller
    stamp: _Stamp = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.stamp is not _STAMP:
            raise PermissionError("a ReadScope comes from memsvc.scope.policy only")

    def __contains__(self, scope: Scope) -> bool:
        return scope in self.scopes

    @property
    def label(self) -> str:
        """The first scope, the one the caller is bound to: `vault/project`."""
        return str(self.scopes[0]) if self.scopes else ""


@dataclass(frozen=True, slots=True)
class WriteScope:
    """The one scope a write goes to, with the role the caller has there."""

    scope: Scope
    role: Role
    caller: Caller
    stamp: _Stamp = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.stamp is not _STAMP:
            raise PermissionError("a WriteScope comes from memsvc.scope.policy only")

    @property
    def reviews(self) -> bool:
        """Whether the caller decides here what stands, and so may see what was rejected."""
        return self.role.rank >= Role.REVIEWER.rank
