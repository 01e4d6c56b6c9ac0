"""Who calls, and where: a claim, not yet a permission."""

from dataclasses import dataclass

from memsvc.model.vocabulary import PrincipalKind, ProjectSlug, VaultName

__all__ = ["Caller", "Principal", "Scope"]


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One project of one vault; part of every key, index row and cache key."""

    vault: VaultName
    project: ProjectSlug

    def __str__(self) -> str:
        return f"{self.vault}/{self.project}"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts: `agent:claude-code`, `human:alice`, `service:capture`."""

    kind: PrincipalKind
    name: str

    @property
    def is_person(self) -> bool:
        """Whether a human acts."""
        return self.kind is PrincipalKind.HUMAN

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class Caller:
    """A bound connection: who asks, from where, through which door.

    Everything here comes from the connection; nothing from an argument of a call.
    """

    principal: Principal
    vault: VaultName
    project: ProjectSlug
    door: str = "api"
    on_behalf_of: str = ""
    client: str = ""
    session: str = ""
    request_id: str = ""
    confirmed: str = ""
    """How a person confirmed a guarded verb: `terminal`, `flag`, or nothing."""

    @property
    def confirms(self) -> bool:
        """Whether a person calls who confirmed what is asked for."""
        return self.principal.is_person and bool(self.confirmed)
