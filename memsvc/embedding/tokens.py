"""Text as a model's tokens: what the model reads, and how long a text is."""

import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from memsvc.embedding.profile import MINILM, ModelProfile, PackagedProfile, packaged_tokenizer
from memsvc.errors import Misconfigured

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

__all__ = ["Pair", "TokenCounter", "TokenReader", "Tokens", "estimate_tokens", "token_reader"]

_FIRST_CUT = 4096
_LONGEST_WORD = 100
"""WordPiece takes a longer word as one unknown token, so a cut changes fewer tokens than this."""
_COUNTED = 1 << 16
_BYTES_A_TOKEN = 3
_PIECE = re.compile(r"[^\W_]+|[^\s\w]|_")


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a model reads of one text: `ids`, with the two markers and the prefix, of which
    `ids[first:-1]` are the text's own; and where each of those stands in the text, in `spans`.
    """

    ids: list[int]
    first: int
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """What a model reads of a question and a passage together: `ids`, and the segment of each."""

    ids: list[int]
    types: list[int]


class TokenReader:
    """A model's tokenizer; any text is legal and none is syntax. Safe to share by threads."""

    def __init__(self, source: str, profile: ModelProfile = MINILM) -> None:
        """Load a tokenizer from its JSON. Raises Misconfigured or ImportError."""
        self._tokenizer = _loaded(source)
        # The file may ask for padding and cutting, which costs a short text six times its time.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        markers = self._tokenizer.encode("").ids
        if len(markers) != 2:
            raise Misconfigured(
                f"the tokenizer sets {len(markers)} markers around a text; one before and one after "
                "it are needed"
            )
        self._start, self._end = markers
        self.window = profile.window
        prefixes = (profile.query_prefix, profile.passage_prefix)
        self.max_tokens = profile.window - 2 - max(len(self._encode(one).ids) for one in prefixes)
        if self.max_tokens < 1:
            raise Misconfigured(f"the model's window of {profile.window} tokens leaves no text")

    def ids(self, text: str) -> list[int]:
        """What the model reads of a text: its first `max_tokens` tokens between the markers."""
        return self.read(text).ids

    def read(self, text: str, *, prefix: str = "") -> Tokens:
        """What the model reads of a text after a prefix."""
        length = _FIRST_CUT
        found = self._encode(prefix + text[:length])
        while length < len(text) and len(found.ids) < self.window + _LONGEST_WORD:
            length *= 8
            found = self._encode(prefix + text[:length])
        start = len(prefix)
        before = _before(found.offsets, start)
        stop = before + self.max_tokens
        spans = tuple(_span(text, one, start) for one in found.offsets[before:stop])
        return Tokens([self._start, *found.ids[:stop], self._end], before + 1, spans)

    def pair(self, query: str, text: str) -> Pair:
        """A question and a passage with the markers that the tokenizer sets around two texts; the
        question may fill half the window, the passage the rest.
        """
        first = self._encode(query[:_FIRST_CUT])
        asked = first.ids[: self.window // 2]
        end = first.offsets[len(asked) - 1][1] if asked else 0
        found = self._tokenizer.encode(_legal(query[:end]), _legal(text[: _FIRST_CUT * 4]))
        excess = max(0, len(found.ids) - self.window)
        stop = len(found.ids) - 1  # the closing marker stays
        keep = [*range(stop - excess), stop]
        return Pair([found.ids[at] for at in keep], [found.type_ids[at] for at in keep])

    def count(self, text: str) -> int:
        """Tokens of a text without markers; past 65,536 characters at the density before."""
        counted = len(self._encode(text[:_COUNTED]).ids)
        if len(text) <= _COUNTED:
            return counted
        return -(-counted * len(text) // _COUNTED)

    def _encode(self, text: str) -> "Encoding":
        return self._tokenizer.encode(_legal(text), add_special_tokens=False)


def _legal(text: str) -> str:
    """Text that can be encoded: a lone surrogate becomes a question mark, in the same place."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _before(offsets: "list[tuple[int, int]]", length: int) -> int:
    """How many tokens end within the first `length` characters."""
    count = 0
    while length and count < len(offsets) and offsets[count][1] <= length:
        count += 1
    return count


def _span(text: str, offsets: tuple[int, int], shift: int) -> tuple[int, int]:
    """Where a token stands in the text; some tokenizers count the blank before a word to it."""
    start, end = max(0, offsets[0] - shift), offsets[1] - shift
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _loaded(source: str) -> "Tokenizer":
    from tokenizers import Tokenizer  # see TokenReader

    try:
        return Tokenizer.from_str(source)
    except Exception as error:
        if type(error) is Exception:  # all that the library raises for a file it cannot use
            raise Misconfigured(
                "the model's tokenizer.json cannot be used: damaged, or of an unknown kind"
            ) from error
        raise


@cache
def token_reader(profile: PackagedProfile = MINILM) -> TokenReader:
    """The one reader of the packaged tokenizer that everything in this process shares. Raises Misconfigured or ImportError."""
    return TokenReader(packaged_tokenizer(profile), profile)


class TokenCounter:
    """Counts tokens of the packaged tokenizer, whatever model is in use: a budget stays the same
    with another model. It loads at the first count, in about 40 ms.

    Where the tokenizer cannot be loaded, counts are estimates and `problem` says why.
    """

    def __init__(self, profile: PackagedProfile = MINILM) -> None:
        self.problem = ""
        self._profile = profile
        self._reader: TokenReader | None = None
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """Tokens of a text, without markers."""
        if self._reader is None and not self.problem:
            self._load()
        return self._reader.count(text) if self._reader else estimate_tokens(text)

    def _load(self) -> None:
        with self._lock:
            if self._reader is not None or self.problem:
                return
            try:
                self._reader = token_reader(self._profile)
            except (Misconfigured, ImportError) as error:
                self.problem = str(error)


def estimate_tokens(text: str) -> int:
    """A count without any tokenizer, rather too high than too low.

    Each symbol is one token, each run of letters and digits one for three bytes of its UTF-8.
    """
    runs, symbols = 0, 0
    for piece in _PIECE.findall(text):
        if piece.isalnum():
            runs += -(-len(piece.encode("utf-8", "replace")) // _BYTES_A_TOKEN)
        else:
            symbols += 1
    return runs + symbols
