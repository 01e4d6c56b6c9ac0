"""What an embedder is: text in, unit vectors out; and what a reranker is: pairs in, scores out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy costs a start-up more than everything else here
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "Reading", "Reranker"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model made of one text: its unit `vector`, shape (dimension,), and for each token that
    it read, markers and prefix left out, its unit vector in `states`, shape (tokens, dimension), and
    where it stands in the text in `spans`, as start and end.
    """

    vector: "NDArray[np.float32]"
    states: "NDArray[np.float32]"
    spans: tuple[tuple[int, int], ...]


class Embedder(Protocol):
    """Turns any text (empty, NUL, lone surrogates, megabytes) into a vector; safe to share by threads.

    The same text always gets the same vector, whatever else is embedded with it. Vectors of
    different `model_id`s must never be compared. Every method that embeds raises ModelUnavailable if
    the model fails at it.
    """

    @property
    def model_id(self) -> str:
        """Model, revision and build as stable text; stored with every vector."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """How many tokens, as `count_tokens` counts them, a vector covers; the rest is not read."""
        ...

    def embed_query(self, text: str) -> "NDArray[np.float32]":
        """The unit vector of a question, shape (dimension,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """The unit vectors of passages in the order given, shape (len(texts), dimension)."""
        ...

    def read_query(self, text: str) -> Reading:
        """A question, with its tokens; its vector is that of `embed_query`."""
        ...

    def read_passages(self, texts: Sequence[str]) -> "list[Reading]":
        """Passages in the order given, with their tokens; vectors as of `embed_passages`."""
        ...

    def count_tokens(self, text: str) -> int:
        """Length of the text in the model's tokens, without the markers around it."""
        ...


class Reranker(Protocol):
    """Judges how well passages answer a question; safe to share by threads."""

    @property
    def model_id(self) -> str:
        """Model, revision and build as stable text."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        """From 0 (does not answer) to 1, one for each text, in the order given, shape (len(texts),).

        A text's score depends on no other text. What does not fit the model's window is not read.
        Raises ModelUnavailable if the model fails.
        """
        ...
