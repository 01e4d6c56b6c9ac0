"""Makes memsvc/notes/data/confusables.json from the confusables table inside the ICU library.

Run by hand when Unicode's table should be renewed (Debian: package libicu72 or newer):

    python config/make_confusables.py memsvc/notes/data/confusables.json

ICU compiles Unicode's confusables.txt (UTS 39); this script asks it for the skeleton of every
character, keeps what is left to do after NFKD and case folding, and folds capitals and small
letters together, so that the look of either decides: `letters` maps what a folded text may hold,
`capitals` what a capital among ASCII letters looks like, `digits` what looks like a digit.
Renewing the table changes normal forms, and with them which texts older tombstones meet: treat it
as a change of the data format.
"""

import ctypes
import ctypes.util
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

Skeleton = Callable[[str], str]

_ANY_SHAPE = {"'", "·"}
_JAMO = ((0x1100, 0x11FF), (0xA960, 0xA97F), (0xD7B0, 0xD7FF))


def icu_skeleton() -> Skeleton:
    """The function that gives a text's skeleton, from the ICU library of this machine."""
    name = ctypes.util.find_library("icui18n")
    if name is None:
        raise SystemExit("no ICU library found; install libicu72 or newer")
    suffix = name.rsplit(".", 1)[-1]
    library = ctypes.CDLL(name)
    opener = library[f"uspoof_open_{suffix}"]
    opener.restype = ctypes.c_void_p
    error = ctypes.c_int(0)
    checker = ctypes.c_void_p(opener(ctypes.byref(error)))
    ask = library[f"uspoof_getSkeletonUTF8_{suffix}"]

    def skeleton(text: str) -> str:
        data = text.encode()
        out = ctypes.create_string_buffer(1024)
        failed = ctypes.c_int(0)
        size = ask(checker, ctypes.c_uint32(0), data, len(data), out, 1024, ctypes.byref(failed))
        if failed.value > 0:
            raise SystemExit(f"ICU refused U+{ord(text[0]):04X}: error {failed.value}")
        return out.raw[:size].decode()

    return skeleton


def bare(text: str) -> str:
    """Compatibility letters without their marks."""
    return "".join(
        char
        for char in unicodedata.normalize("NFKD", text)
        if unicodedata.category(char) not in {"Mn", "Me"}
    )


def folded(text: str) -> str:
    """The text as the normal form sees it before look-alikes are mapped."""
    return bare(bare(text).casefold())


def letters() -> Iterator[str]:
    """Every character that a folded text may hold and that may look like another one."""
    for point in range(0x80, sys.maxunicode + 1):
        char = chr(point)
        if any(first <= point <= last for first, last in _JAMO):
            continue
        if unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "No"}:
            yield char


def plain_word(text: str) -> bool:
    """Whether a target is made of letters or is an apostrophe."""
    return bool(text) and all(char in _ANY_SHAPE or char.isalpha() for char in text)


def shape(char: str, skeleton: Skeleton) -> tuple[str, str]:
    """What a folded character looks like as a letter, and as a digit, or nothing."""
    small = bare(skeleton(char)).replace("rn", "m")
    capital = bare(skeleton(char.upper())) if len(char.upper()) == 1 else ""
    digit = next((look for look in (small, capital) if len(look) == 1 and look in "23456789"), "")
    if small.isascii() and small.isalpha():
        return small.lower(), digit
    if capital.isascii() and len(capital) == 1 and capital.isalpha():
        return ("i" if capital == "l" else capital.lower()), digit
    target = folded(small)
    return (target if plain_word(target) else ""), digit


def close(found: dict[str, str]) -> dict[str, str]:
    """Targets that are mapped themselves follow on to the end; what maps to itself goes."""
    closed = {}
    for char, first in found.items():
        target = first
        for _ in range(8):
            further = "".join(found.get(part, part) for part in target)
            if further == target:
                break
            target = further
        if target != char:
            closed[char] = target
    return closed


def table(skeleton: Skeleton) -> dict[str, dict[str, str]]:
    """The three maps of the data file."""
    found: dict[str, str] = {}
    digits: dict[str, str] = {}
    for char in letters():
        if folded(char) != char:
            continue
        letter, digit = shape(char, skeleton)
        if letter and letter != char:
            found[char] = letter
        if digit:
            digits[char] = digit
    found = close(found)
    capitals = {}
    for char in letters():
        look = bare(skeleton(char))
        if char.lower() == char or len(look) != 1 or not (look.isascii() and look.isalpha()):
            continue
        usual = "".join(found.get(part, part) for part in folded(char))
        if look != "l" and usual != look.lower():
            capitals[char] = look.lower()
    return {"capitals": capitals, "digits": digits, "letters": found}


def main() -> None:
    """Write the file named by the first argument."""
    made = table(icu_skeleton())
    text = json.dumps(made, ensure_ascii=True, indent=0, sort_keys=True)
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
