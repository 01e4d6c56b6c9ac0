"""What a recall may be told to leave out or weigh otherwise: for measuring, never for callers."""

from dataclasses import dataclass

__all__ = ["DEFAULT", "Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The stages of a recall and their weights. The defaults were chosen on the generated vaults of
    `bench/generate`, pool `tune`; `bench/README.md` says what each stage gains.

    No field touches scope or visibility: whatever is set, the same notes may be seen.
    """

    lexical: bool = True
    vector: bool = True
    links: bool = True
    late: bool = True
    """Sentences and tokens of the best notes are compared, not only whole passages."""
    exact_names: bool = True
    """No link hop when the best answer's title is all that was asked for."""
    tie_breakers: bool = True
    """Trust orders what answers equally well."""
    collapse: bool = True
    """Notes that say the same in the same words count once."""
    abstain: bool = True
    """Without it every candidate is returned, however weak."""

    candidates: int = 60
    """Versions that are looked at closely."""
    passages: int = 3
    """Passages of each that are."""
    words: float = 0.4
    """Weight of word coverage beside a cosine, in the first look and where there is no other."""
    words_late: float = 0.2
    """The same in the closer look, whose tokens know most words already."""
    tokens: float = 0.7
    """Weight of the tokens beside the meaning of the best sentence."""
    title: float = 0.1
    """Weight of the words that stand in the title, an alias or a tag."""
    mention: float = 0.3
    """More weight of them when the question names the note: a whole title or alias is in it."""
    leaders: int = 3
    """Best versions whose links are followed."""
    hop_keep: float = 0.58
    """A neighbour gets this share of the score of the version that leads to it."""
    hop_rest: float = 0.4
    """And this weight of how close it is to what the leading version leaves unanswered."""


DEFAULT = Tuning()
