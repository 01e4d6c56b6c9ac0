"""Dates in running text as one normal term, however they are written: `2026-03-12`.

Only whole dates that cannot be misread: year first, a named month, or the day before the month
with dots. `03/12/2026` is another day in another country and stays what it is.
"""

import re
from datetime import date

__all__ = ["dates"]

_MONTHS = (
    "january jan januar jänner janvier enero gennaio januari janeiro",
    "february feb februar février fevrier fév febrero febbraio februari fevereiro",
    "march mar märz maerz mär mars marzo maart março",
    "april apr avril avr abril aprile",
    "may mai mayo maggio mei maio",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août aout agosto augustus",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre decembre diciembre dic dicembre dezembro",
)
_NUMBER = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_NAME = "|".join(sorted(_NUMBER, key=len, reverse=True))
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_DATE = re.compile(
    rf"(?<![\w.])(?:"
    rf"(?P<y1>{_YEAR})(?P<s1>[-/.])(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>{_DAY})"
    rf"|(?P<d2>{_DAY})\.[ ]?(?P<m2>\d{{1,2}})\.[ ]?(?P<y2>{_YEAR})"
    rf"|(?P<d3>{_DAY})(?:st|nd|rd|th|\.|º|er)?[ -](?:of |de |d')?(?P<n3>{_NAME})\.?,?[ -](?:de )?(?P<y3>{_YEAR})"
    rf"|(?P<n4>{_NAME})\.?[ ](?P<d4>{_DAY})(?:st|nd|rd|th)?,?[ ](?P<y4>{_YEAR})"
    rf")(?!\w)|(?P<y5>{_YEAR})年(?P<m5>\d{{1,2}})月(?P<d5>\d{{1,2}})日",
    re.IGNORECASE,
)
_YEAR_ALONE = re.compile(_YEAR)
BEFORE, BEHIND = 32, 12
"""Letters around a year within which the rest of its date stands."""


def dates(text: str) -> list[str]:
    """The dates of a text in order, as `2026-03-12`; linear. What is no day of a calendar is none."""
    found: list[str] = []
    done = 0
    for year in _YEAR_ALONE.finditer(text):  # few, so that most of a text is looked at once
        begin, end = max(done, year.start() - BEFORE), year.end() + BEHIND
        for match in _DATE.finditer(text, begin, end):
            done = match.end()
            parts = match.groupdict()
            for at in "12345":
                if parts[f"y{at}"]:
                    month = parts.get(f"m{at}") or _NUMBER[parts[f"n{at}"].lower()]
                    found += _normal(int(parts[f"y{at}"]), int(month), int(parts[f"d{at}"]))
    return found


def _normal(year: int, month: int, day: int) -> list[str]:
    try:
        return [date(year, month, day).isoformat()]
    except ValueError:
        return []
