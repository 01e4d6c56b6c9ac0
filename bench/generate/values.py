"""Draws values: numbers, years, versions, dates, amounts, one of a list."""

from datetime import date, timedelta

from bench.generate.model import Values

__all__ = ["amount", "day", "number", "one_of", "plain", "spell", "version", "year"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def one_of(*choices: str) -> Values:
    """One of the given texts."""
    return lambda chance: chance.choice(choices)


def number(least: int, most: int, *, step: int = 1) -> Values:
    """A whole number, thousands apart by commas, both ends included."""
    return lambda chance: f"{chance.randrange(least, most + 1, step):,}"


def plain(least: int, most: int) -> Values:
    """A whole number without commas, as ports and extensions are written."""
    return lambda chance: str(chance.randint(least, most))


def year(least: int, most: int) -> Values:
    """A year, both ends included."""
    return plain(least, most)


def amount(least: int, most: int, *, form: str, step: int = 100) -> Values:
    """A number within `form`, which has one `{}`."""
    return lambda chance: form.format(f"{chance.randrange(least, most + 1, step):,}")


def version(*, form: str = "{}.{}.{}") -> Values:
    """A version number such as 4.11.2."""
    count = form.count("{}")
    return lambda chance: form.format(*(chance.randint(0, 14) for _ in range(count)))


def day(least: int, most: int, *, style: str = "long") -> Values:
    """A day of the years from `least` to `most`."""
    first = date(least, 1, 1)
    span = (date(most, 12, 31) - first).days
    return lambda chance: spell(first + timedelta(days=chance.randint(0, span)), style=style)


def spell(when: date, *, style: str) -> str:
    """A date as `long` 9 July 2026, `american` July 9, 2026 or `iso` 2026-07-09."""
    if style == "iso":
        return when.isoformat()
    month = _MONTHS[when.month - 1]
    if style == "american":
        return f"{month} {when.day}, {when.year}"
    return f"{when.day} {month} {when.year}"
