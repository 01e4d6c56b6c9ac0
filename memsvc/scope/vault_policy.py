"""What a vault lets its writers do: the settings of its policy, read, checked and shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from memsvc.errors import InvalidInput
from memsvc.model.identity import Principal
from memsvc.model.vocabulary import ExternalEdits, PrincipalKind, ReviewRule

__all__ = ["VaultPolicy", "changed_settings"]

_MOST_CHARACTERS = 1_000_000
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultPolicy:
    """One vault's policy; what was never set has its default.

    `max_note` counts the characters of a body, `write_budget` an agent's writes in one hour (0: no
    limit), `shared` says who may write to the vault's shared project: `all`, `people`, or
    principals such as `agent:curator` (people always may).
    """

    review: ReviewRule = ReviewRule.NONE
    external_edits: ExternalEdits = ExternalEdits.TRUST
    secrets: bool = True
    max_note: int = _MOST_CHARACTERS
    write_budget: int = 0
    shared: tuple[str, ...] = ("all",)

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "VaultPolicy":
        """The policy that stored settings mean. Raises InvalidInput for a value that is none."""
        known = {item.name for item in fields(cls)}
        values = {name: _READERS[name](text) for name, text in settings.items() if name in known}
        return cls(**values)  # type: ignore[arg-type] # each reader gives its field's type

    def shown(self) -> dict[str, str]:
        """Every setting with its value, as it may be given again."""
        return {
            "review": self.review.value,
            "external_edits": self.external_edits.value,
            "secrets": "on" if self.secrets else "off",
            "max_note": str(self.max_note),
            "write_budget": str(self.write_budget),
            "shared": ",".join(self.shared),
        }

    def wants_review(self, principal: Principal) -> bool:
        """Whether what this principal writes waits for a person."""
        if self.review is ReviewRule.AGENTS:
            return not principal.is_person
        return self.review is ReviewRule.ALL

    def may_write_shared(self, principal: Principal) -> bool:
        """Whether this principal may write to the shared project."""
        if principal.is_person or "all" in self.shared:
            return True
        return str(principal) in self.shared


def changed_settings(present: Mapping[str, str], pairs: Iterable[str]) -> dict[str, str]:
    """The stored settings after `key=value` pairs; an empty value brings the default back.

    Raises InvalidInput that names the settings and their values.
    """
    after = dict(present)
    for pair in pairs:
        name, separator, value = pair.partition("=")
        name, value = name.strip(), value.strip()
        if not separator or name not in _READERS:
            raise InvalidInput(
                f"a policy setting is KEY=VALUE, with one of the keys {', '.join(_READERS)}",
                argument="policy",
            )
        if value:
            _READERS[name](value)
            after[name] = value
        else:
            after.pop(name, None)
    return after


def _word(name: str, kind: type[ReviewRule] | type[ExternalEdits], text: str) -> object:
    try:
        return kind(text)
    except ValueError:
        raise InvalidInput(
            f"{name} is one of {', '.join(kind)}, not {text[:40]!r}", argument="policy"
        ) from None


def _number(name: str, text: str, *, least: int, most: int) -> int:
    plain = text.replace("_", "")
    if not (plain.isascii() and plain.isdigit() and least <= int(plain) <= most):
        raise InvalidInput(f"{name} is a number from {least} to {most}", argument="policy")
    return int(plain)


def _switch(name: str, text: str) -> bool:
    if text not in _SWITCH:
        raise InvalidInput(f"{name} is on or off, not {text[:40]!r}", argument="policy")
    return _SWITCH[text]


def _writers(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        kind, separator, who = name.partition(":")
        principal = bool(separator and who) and kind in tuple(PrincipalKind)
        if not principal and not (name in ("all", "people") and len(names) == 1):
            raise InvalidInput(
                "shared is all, people, or principals such as agent:curator,service:capture",
                argument="policy",
            )
    return names


_READERS = {
    "review": lambda text: _word("review", ReviewRule, text),
    "external_edits": lambda text: _word("external_edits", ExternalEdits, text),
    "secrets": lambda text: _switch("secrets", text),
    "max_note": lambda text: _number("max_note", text, least=100, most=_MOST_CHARACTERS),
    "write_budget": lambda text: _number("write_budget", text, least=0, most=1_000_000),
    "shared": _writers,
}
