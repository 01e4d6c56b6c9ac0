"""A share of a sample, with the interval in which the true share lies nineteen times of twenty."""

import math
from dataclasses import dataclass

__all__ = ["Rate"]

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many."""

    hits: int
    of: int

    @property
    def share(self) -> float:
        """From 0 to 1; 0 of nothing."""
        return self.hits / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval at 95 %; everything for an empty sample."""
        if not self.of:
            return 0.0, 1.0
        n, z2 = self.of, _Z * _Z
        middle = (self.share + z2 / (2 * n)) / (1 + z2 / n)
        half = _Z / (1 + z2 / n) * math.sqrt(self.share * (1 - self.share) / n + z2 / (4 * n * n))
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def data(self) -> dict[str, object]:
        """As JSON values, shares to four places."""
        low, high = self.interval
        return {
            "hits": self.hits,
            "of": self.of,
            "share": round(self.share, 4),
            "low": round(low, 4),
            "high": round(high, 4),
        }

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.hits}/{self.of} = {self.share:.1%} ({low:.1%} to {high:.1%})"
