"""What a recall may be told to leave out or weigh otherwise: for measuring, never for callers."""

from dataclasses import dataclass

__all__ = ["DEFAULT", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The stages of a recall and their weights; the defaults are what `bench/README.md` measured.

    No field touches scope or visibility: whatever is set, the same notes may be seen.
    """

    lexical: bool = True
    vector: bool = True
    links: bool = True
    late: bool = True
    """Late interaction: compare the question's tokens with those of the best passages."""
    exact_names: bool = True
    """No link hop when the best answer's title is all that was asked for."""
    tie_breakers: bool = True
    abstain: bool = True
    """Without it every candidate is returned, however weak."""


DEFAULT = Tuning()
