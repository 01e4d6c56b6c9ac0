"""Text as the model's tokens: what the model reads, and how long a text is."""

import re
import threading
from functools import cache
from typing import TYPE_CHECKING

from memsvc.embedding.profile import MINILM, ModelProfile, packaged_tokenizer
from memsvc.errors import Misconfigured

if TYPE_CHECKING:
    from tokenizers import Encoding

__all__ = ["TokenCounter", "TokenReader", "estimate_tokens", "token_reader"]

_FIRST_CUT = 4096
_LONGEST_WORD = 100
"""WordPiece takes a longer word as one unknown token, so a cut changes fewer tokens than this."""
_COUNTED = 1 << 16
_BYTES_A_TOKEN = 3
_PIECE = re.compile(r"[^\W_]+|[^\s\w]|_")


class TokenReader:
    """The model's tokenizer; any text is legal and none is syntax. Safe to share by threads."""

    def __init__(self, profile: ModelProfile = MINILM) -> None:
        """Load the tokenizer. Raises Misconfigured or ImportError."""
        from tokenizers import Tokenizer  # 25 ms, which a start-up need not pay

        self._tokenizer: Tokenizer = Tokenizer.from_str(packaged_tokenizer(profile))
        # The file asks for padding and cutting to 128, which costs a short text six times its time.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self._start, self._end = self._tokenizer.encode("").ids
        self.window = profile.window
        self.max_tokens = profile.window - 2

    def ids(self, text: str) -> list[int]:
        """What the model reads of a text: its first `max_tokens` tokens between the markers."""
        return self.read(text)[0]

    def read(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """`ids`, and where each token stands in the text, markers left out."""
        length = _FIRST_CUT
        found = self._encode(text[:length])
        while length < len(text) and len(found.ids) < self.max_tokens + _LONGEST_WORD:
            length *= 8
            found = self._encode(text[:length])
        ids = [self._start, *found.ids[: self.max_tokens], self._end]
        return ids, found.offsets[: self.max_tokens]

    def count(self, text: str) -> int:
        """Tokens of a text without markers; past 65,536 characters at the density before."""
        counted = len(self._encode(text[:_COUNTED]).ids)
        if len(text) <= _COUNTED:
            return counted
        return -(-counted * len(text) // _COUNTED)

    def _encode(self, text: str) -> "Encoding":
        legal = text.encode("utf-8", "replace").decode("utf-8")  # keeps every position
        return self._tokenizer.encode(legal, add_special_tokens=False)


@cache
def token_reader(profile: ModelProfile = MINILM) -> TokenReader:
    """The one reader that everything in this process shares. Raises Misconfigured or ImportError."""
    return TokenReader(profile)


class TokenCounter:
    """Counts tokens without the model: the tokenizer loads at the first count, in about 40 ms.

    Where the tokenizer cannot be loaded, counts are estimates and `problem` says why.
    """

    def __init__(self, profile: ModelProfile = MINILM) -> None:
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
