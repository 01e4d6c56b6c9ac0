"""Counts probes and controls by class, and judges the counts."""

from collections import Counter
from dataclasses import dataclass, field

from bench.negatives.cases import Negative, Rate
from memsvc.model.replies import Json

__all__ = ["FLOOR", "Row", "Tally"]

FLOOR = 0.98
"""The least share of controls that a class must find."""
EXAMPLES = 4
"""So many violations of each case are told in words."""


@dataclass(slots=True)
class Row:
    """One class: distinct cases, probes and violations, controls and how many were found."""

    cases: set[str] = field(default_factory=set)
    probes: int = 0
    violations: int = 0
    controls: int = 0
    found: int = 0

    @property
    def rate(self) -> float:
        """Violations per probe."""
        return self.violations / self.probes if self.probes else 0.0

    @property
    def recall(self) -> float:
        """Share of the controls that were found among the first eight; 0 without any."""
        return self.found / self.controls if self.controls else 0.0


class Tally:
    """What a run found. Every class has a row from the start, so that none is left out unseen."""

    def __init__(self) -> None:
        self.rows: dict[Negative, Row] = {negative: Row() for negative in Negative}
        self.examples: list[str] = []
        self._told: Counter[str] = Counter()

    def probe(self, negative: Negative, case: str, how: str, problem: str) -> None:
        """One probe; `problem` is empty when nothing forbidden came back."""
        row = self.rows[negative]
        row.cases.add(case)
        row.probes += 1
        if problem:
            row.violations += 1
            self._example(f"{negative}: {case}", f"{how}: {problem}")

    def control(self, negative: Negative, case: str, how: str, *, found: bool) -> None:
        """One thing that had to be found."""
        row = self.rows[negative]
        row.cases.add(case)
        row.controls += 1
        row.found += found
        if not found:
            self._example(f"{negative}: {case}: control", f"not found: {how}")

    def _example(self, case: str, text: str) -> None:
        self._told[case] += 1
        if self._told[case] <= EXAMPLES:
            self.examples.append(f"{case}: {text}")

    @property
    def probes(self) -> int:
        """Of all classes."""
        return sum(row.probes for row in self.rows.values())

    @property
    def violations(self) -> int:
        """Of all classes."""
        return sum(row.violations for row in self.rows.values())

    def failures(self) -> list[str]:
        """Why the run is no pass: each violated class, and each that lacks probes or controls."""
        found = []
        for negative, row in self.rows.items():
            if row.violations:
                found.append(f"{negative}: {row.violations} of {row.probes} probes violated")
            if not row.probes:
                found.append(f"{negative}: no probe was made")
            if row.recall < FLOOR:
                found.append(f"{negative}: {row.found} of {row.controls} controls found")
        return found

    def data(self) -> dict[str, Json]:
        """The counts as JSON values, without ids or times: equal for equal runs."""
        rates: dict[str, Json] = {}
        for rate in Rate:
            rows = [row for negative, row in self.rows.items() if negative.rate is rate]
            probes = sum(row.probes for row in rows)
            violations = sum(row.violations for row in rows)
            rates[rate] = {
                "probes": probes,
                "violations": violations,
                "rate": round(violations / probes, 6) if probes else None,
            }
        classes: dict[str, Json] = {
            negative: {
                "counted_as": negative.rate.value,
                "cases": len(row.cases),
                "probes": row.probes,
                "violations": row.violations,
                "rate": round(row.rate, 6),
                "controls": row.controls,
                "controls_found": row.found,
                "recall_at_8": round(row.recall, 4),
            }
            for negative, row in self.rows.items()
        }
        return {
            "probes": self.probes,
            "violations": self.violations,
            "rates": rates,
            "classes": classes,
            "examples": list(self.examples),
        }
