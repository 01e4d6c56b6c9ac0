"""The arms that a run compares: recall as it is, and recall without one of its parts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from memsvc.errors import InvalidInput
from memsvc.model.replies import Json
from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["ARMS", "STANDARD", "Arm", "tuned_arm"]

_MEASURED = replace(DEFAULT, abstain=False)
"""Abstention is measured by itself: here it would hide how the notes were ranked."""
_YES, _NO = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A way to ask. One that `needs_model` says nothing while no model is loaded."""

    name: str
    tuning: Tuning
    needs_model: bool = False

    @property
    def settings(self) -> Mapping[str, Json]:
        """What differs from recall as it is, by name."""
        return {
            part.name: getattr(self.tuning, part.name)
            for part in fields(Tuning)
            if getattr(self.tuning, part.name) != getattr(_MEASURED, part.name)
        }


STANDARD = Arm(name="default", tuning=_MEASURED)
ARMS = (
    Arm(name="words only", tuning=replace(_MEASURED, vector=False, late=False)),
    Arm(name="vectors only", tuning=replace(_MEASURED, lexical=False), needs_model=True),
    Arm(name="no links", tuning=replace(_MEASURED, links=False)),
    Arm(name="no late interaction", tuning=replace(_MEASURED, late=False), needs_model=True),
    STANDARD,
)


def tuned_arm(assignments: Sequence[str]) -> Arm:
    """The default with settings given as `name=value`. Raises InvalidInput for any that is wrong."""
    changed: dict[str, bool | int | float | str] = {}
    known = {part.name: getattr(DEFAULT, part.name) for part in fields(Tuning)}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        name = name.strip()
        if not separator or name not in known:
            raise InvalidInput(
                f"--set takes name=value, with a name of: {', '.join(known)}", argument="set"
            )
        changed[name] = _value(name, text.strip(), known[name])
    tuning = replace(_MEASURED, **changed)  # type: ignore[arg-type] # of the field's own type, see _value
    shown = " ".join(f"{name}={str(value).lower()}" for name, value in changed.items())
    return Arm(name=f"default with {shown}", tuning=tuning)


def _value(name: str, text: str, like: object) -> bool | int | float | str:
    """The text as a value of the type that the setting has now."""
    if isinstance(like, bool):
        if text.lower() in _YES | _NO:
            return text.lower() in _YES
        raise InvalidInput(f"{name} takes true or false", argument="set")
    if isinstance(like, int | float):
        number = _number(text, whole=isinstance(like, int))
        if number is None or not math.isfinite(number):
            kind = "a whole number" if isinstance(like, int) else "a number"
            raise InvalidInput(f"{name} takes {kind}", argument="set")
        return number
    return text


def _number(text: str, *, whole: bool) -> int | float | None:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return None
