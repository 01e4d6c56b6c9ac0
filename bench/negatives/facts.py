"""Statements to probe with: each about a subject of its own, with values that occur nowhere else."""

import random
from dataclasses import dataclass

__all__ = ["Fact", "Facts"]

_HEADS = ("bra", "on", "vel", "tar", "mol", "quin", "sel", "dro", "fen", "hal", "jor", "kes", "lun")
_MIDDLES = ("do", "ri", "ma", "ske", "tho", "va", "ne", "lo", "gra", "pi", "bu", "wen", "ca")
_TAILS = ("rth", "lig", "mar", "ven", "sk", "dorf", "nox", "tel", "bry", "quist", "zan", "holm")
_THINGS = (
    "relay",
    "ledger",
    "gateway",
    "importer",
    "scheduler",
    "archive",
    "dashboard",
    "pipeline",
)
_MONTHS = ("January", "March", "April", "July", "September", "November")
_ATTRIBUTES = ("staging host", "release date", "maintainer", "yearly budget", "deploy port")


@dataclass(frozen=True, slots=True)
class Fact:
    """One attribute of one subject, and three values of it that nothing else has."""

    subject: str
    attribute: str
    old: str
    new: str
    other: str

    @property
    def title(self) -> str:
        return f"{self.subject} {self.attribute}".capitalize()

    @property
    def slug(self) -> str:
        """A name for its file."""
        return self.title.lower().replace(" ", "-")

    @property
    def question(self) -> str:
        return f"what is the {self.attribute} of the {self.subject}?"

    def says(self, value: str) -> str:
        """The statement that gives the attribute this value."""
        return f"The {self.attribute} of the {self.subject} is {value}."


class Facts:
    """Makes facts, the same for the same seed, no two with a subject or a value in common."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._taken: set[str] = set()
        self._count = 0

    def fact(self) -> Fact:
        """The next one; the attributes take turns."""
        attribute = _ATTRIBUTES[self._count % len(_ATTRIBUTES)]
        self._count += 1
        values = [self._fresh(attribute) for _ in range(3)]
        subject = f"{self.name()} {self._chance.choice(_THINGS)}"
        return Fact(subject, attribute, *values)

    def name(self) -> str:
        """A made-up name that was not given before."""
        while True:
            parts = (_HEADS, _MIDDLES, _TAILS)
            name = "".join(self._chance.choice(part) for part in parts).capitalize()
            if self._take(name):
                return name

    def _fresh(self, attribute: str) -> str:
        while True:
            value = self._value(attribute)
            if self._take(value):
                return value

    def _take(self, text: str) -> bool:
        free = text not in self._taken
        self._taken.add(text)
        return free

    def _value(self, attribute: str) -> str:
        chance = self._chance
        number = chance.randrange(1_100, 9_900)
        if attribute == "release date":
            return f"{chance.randrange(10, 29)} {chance.choice(_MONTHS)} {chance.randrange(2030, 2090)}"
        if attribute == "staging host":
            return f"{self.name().lower()}-{number}"
        if attribute == "maintainer":
            return f"{self.name()} {self.name()}"
        if attribute == "yearly budget":
            return f"{number} thousand euro"
        return f"port {number}"
