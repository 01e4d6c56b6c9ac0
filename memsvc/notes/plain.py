"""Turns markdown into what a reader sees of it, keeping every offset.

Markup is replaced, never cut: masked text has the length of its source, with `BLANK` where markup
stood, so that a place in the one is a place in the other. Every pass is linear in the text.
"""

import html
import re

__all__ = [
    "BLANK",
    "code_spans",
    "comment_spans",
    "mask_inline",
    "mask_lines",
    "plain",
    "without_code",
]

BLANK = "\x00"
_HELD = "\x01"

_WIKI = re.compile(r"!?\[\[([^\[\]|\\\n]*)(?:\\?\|([^\[\]\n]*))?\]\]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_TARGET = re.compile(r"\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]:?")
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]*)>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BREAKING = "br|hr|p|div|li|ul|ol|tr|td|th|table|h[1-6]|blockquote|summary|details|section|dt|dd"
_TAG = re.compile(
    rf"</?({_BREAKING}|a|abbr|article|audio|b|big|body|button|center|cite|code|del|dl|em|figcaption"
    r"|figure|font|footer|head|header|html|i|iframe|img|input|ins|kbd|label|link|main|mark|meta|nav"
    r"|picture|pre|q|s|samp|script|small|source|span|strike|strong|style|sub|sup|svg|tbody|tfoot"
    r"|thead|title|tt|u|var|video|wbr)(?:[\s/][^<>]*)?>",
    re.IGNORECASE,
)
_BREAK_NAME = re.compile(_BREAKING, re.IGNORECASE)
_PAIRS = {
    "*": re.compile(r"(\*)(?=[^\s*])([^*]*[^\s*])\*"),
    "**": re.compile(r"(\*\*)(?=[^\s*])((?:[^*]|\*(?!\*))*?[^\s*])\*\*"),
    "_": re.compile(r"(?<![^\W_])(_{1,3})(?=[^\s_])([^_]*[^\s_])\1(?![^\W_])"),
    "==": re.compile(r"(?<!\w)(==)(?=[^\s=])([^=]*[^\s=])==(?!\w)"),
    "~~": re.compile(r"(~~)(?=[^\s~])([^~]*[^\s~])~~"),
}
_NESTED = 4

_MARKS = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•‣◦][ \t]+)+)?(?P<number>[0-9]{1,9}[.)][ \t]+)?"
    r"(?:\[[ xX/<>!?-]\][ \t]+)?(?:>[ \t]*)*(?P<heading>\#{1,6}(?:[ \t]+|$))?"
    r"(?:\[![\w-]+\][+-]?[ \t]*)?"
)
_RULED = re.compile(r"[\s>]*(?:(?:[-*_][ \t]*){3,}|[=-]+[ \t]*|[\s|:-]+|(?:`{3,}|~{3,}).*)$")
_FENCE = re.compile(
    r"(?P<quote>[ \t>]*)(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(?P<ticks>`{3,}(?=[^`]*$)|~{3,})"
)
_LIST_LINE = re.compile(r"[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_BLOCK_ID = re.compile(r"(?<!\S)\^[A-Za-z0-9-]+[ \t]*$")


def plain(text: str) -> str:
    """The text without its markdown: markers, emphasis, link targets, tags, comments.

    Links become their label, wikilinks their alias or target, code its content.
    """
    return mask_inline(mask_lines(text)).replace(BLANK, "")


def comment_spans(text: str) -> list[tuple[int, int]]:
    """Where comments stand, `<!-- -->` and Obsidian's `%% %%`; an unclosed one is no comment."""
    spans: list[tuple[int, int]] = []
    at = 0
    closers = {"<!--": "-->", "%%": "%%"}
    opening = {opener: text.find(opener) for opener in closers}
    while True:
        for opener, place in opening.items():
            if 0 <= place < at:
                opening[opener] = text.find(opener, at)
        ahead = [(place, opener) for opener, place in opening.items() if place >= 0]
        if not ahead:
            return spans
        start, opener = min(ahead)
        end = text.find(closers[opener], start + len(opener))
        if end < 0:
            opening[opener] = -1
            continue
        at = end + len(closers[opener])
        spans.append((start, at))


def code_spans(text: str) -> list[tuple[int, int, int]]:
    """Inline code as (start, end, ticks on each side); a span ends within its paragraph."""
    runs = [(run.start(), run.end()) for run in re.finditer(r"(?<![\\`])`+|\n[ \t>]*(?=\n)", text)]
    following: dict[int, int] = {}
    closing: list[int] = [0] * len(runs)
    for index in range(len(runs) - 1, -1, -1):
        start, end = runs[index]
        if text[start] == "\n":
            following.clear()
            continue
        closing[index] = following.get(end - start, 0)
        following[end - start] = index
    spans = []
    index = 0
    while index < len(runs):
        match = closing[index]
        if match:
            start, end = runs[index]
            spans.append((start, runs[match][1], end - start))
            index = match
        index += 1
    return spans


def without_code(body: str) -> str:
    """The body with code and comments as spaces, so that what is left is prose; same length.

    Code is fenced, indented after a blank line outside a list, or between ticks.
    """
    lines = body.split("\n")
    fence = ""
    listed = False
    above = ""
    for number, line in enumerate(lines):
        if fence.startswith(">") and not line.lstrip().startswith(">"):
            fence = above = ""
        match = None if fence else _FENCE.match(line)
        if fence:
            lines[number] = " " * len(line)
            fence = "" if _closes(line, fence) else fence
            above = "code"
        elif match:
            fence = ("> " if ">" in match["quote"] else "") + match["ticks"]
            lines[number] = " " * len(line)
        elif not line.strip():
            above = above if above == "code" else ""
        elif line.startswith(("    ", "\t")) and above in {"", "code"} and not listed:
            lines[number] = " " * len(line)
            above = "code"
        else:
            above = "text"
            listed = bool(_LIST_LINE.match(line)) or (listed and line.startswith((" ", "\t")))
    prose = "\n".join(lines)
    prose = _space_spans(prose, [(start, end) for start, end, _ in code_spans(prose)])
    return _space_spans(prose, comment_spans(prose))


def _closes(line: str, fence: str) -> bool:
    ticks = fence.lstrip("> ")
    inside = line.lstrip(" \t>")
    return inside.startswith(ticks) and not inside.strip(ticks[0] + " \t\r")


def _space_spans(text: str, spans: list[tuple[int, int]]) -> str:
    parts = []
    at = 0
    for start, end in spans:
        parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def mask_lines(text: str) -> str:
    """Blank what begins and ends a line: quote, list, task and heading marks, rules, fences.

    The number of an ordered item goes too if it is 0 or 1, or another item stands in the text;
    alone, `12. March` is a date.
    """
    marks = [next(_MARKS.finditer(line)) for line in text.split("\n")]  # each may be empty
    numbered = sum(1 for match in marks if match["number"])
    return "\n".join(_mask_line(match, numbers=numbered > 1) for match in marks)


def mask_inline(text: str) -> str:
    """Blank the markup inside a text; line breaks written as tags become line feeds."""
    held: list[tuple[int, int]] = []
    masked = _blank_spans(text, comment_spans(text))
    if "`" in masked:
        masked = _hold_code(masked, held)
    if "[[" in masked:
        masked = _WIKI.sub(_wiki, masked)
    if "\\" in masked:
        held.extend((match.start(1), match.end()) for match in _ESCAPE.finditer(masked))
        masked = _ESCAPE.sub(BLANK + _HELD, masked)
    if "[" in masked:
        masked = _FOOTNOTE.sub(_all_blank, masked)
        masked = _links(masked)
    if "<" in masked:
        masked = _AUTOLINK.sub(lambda match: f"{BLANK}{match[1]}{BLANK}", masked)
        masked = _TAG.sub(_tag, masked)
    if "&" in masked:
        masked = _ENTITY.sub(_entity, masked)
    masked = _emphasis(masked)
    return _restore(masked, text, held)


def _mask_line(match: "re.Match[str]", *, numbers: bool) -> str:
    line = match.string
    if _RULED.match(line) and not any(char.isalnum() for char in line):
        return BLANK * len(line)
    if (
        line.lstrip(" \t>").startswith(("```", "~~~"))
        and line.count("```") + line.count("~~~") == 1
    ):
        return BLANK * len(line)
    end = match.end()
    head = BLANK * end
    if match["number"] and not numbers and match["number"].rstrip(" \t.)") not in "01":
        start, stop = match.span("number")
        head = head[:start] + line[start:stop] + head[stop:]
    rest = _BLOCK_ID.sub(_all_blank, line[end:])
    if match["heading"]:
        rest = _CLOSING.sub(_all_blank, rest)
    return head + rest


def _all_blank(match: "re.Match[str]") -> str:
    return BLANK * len(match[0])


def _blank_spans(text: str, spans: list[tuple[int, int]]) -> str:
    parts = []
    at = 0
    for start, end in spans:
        parts += [text[at:start], BLANK * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _hold_code(text: str, held: list[tuple[int, int]]) -> str:
    parts = []
    at = 0
    for start, end, ticks in code_spans(text):
        inside = end - start - 2 * ticks
        parts += [text[at:start], BLANK * ticks, _HELD * inside, BLANK * ticks]
        held.append((start + ticks, end - ticks))
        at = end
    return "".join([*parts, text[at:]])


def _restore(masked: str, text: str, held: list[tuple[int, int]]) -> str:
    parts = []
    at = 0
    for start, end in sorted(held):
        kept = masked[start:end]
        parts += [masked[at:start], text[start:end] if kept.strip(_HELD) == "" else kept]
        at = end
    return "".join([*parts, masked[at:]])


def _wiki(match: "re.Match[str]") -> str:
    group = 2 if match[2] and match[2].strip() else 1
    start, end = (place - match.start() for place in match.span(group))
    shown = match[group]
    if group == 1:
        visible = shown.split("#^", 1)[0]
        shown = visible + BLANK * (len(shown) - len(visible))
    return BLANK * start + shown + BLANK * (len(match[0]) - end)


def _links(text: str) -> str:
    """Blank brackets and targets of links and images, keeping their labels."""
    targets = {match.start(): match.end() for match in _TARGET.finditer(text)}
    if not targets:
        return text
    blanks: list[tuple[int, int]] = []
    stack: list[int] = []
    covered = 0
    for match in re.finditer(r"[\[\]]", text):
        at = match.start()
        if at < covered:
            continue
        if match[0] == "[":
            stack.append(at)
        elif stack:
            opened = stack.pop()
            if at in targets:
                mark = opened - 1 if opened and text[opened - 1] == "!" else opened
                blanks += [(mark, opened + 1), (at, targets[at])]
                covered = targets[at]
    return _blank_spans(text, sorted(blanks))


def _tag(match: "re.Match[str]") -> str:
    name = match[1].lower()
    first = BLANK
    if _BREAK_NAME.fullmatch(name):
        first = "\n"
    elif name == "sup" and match.start() and match.string[match.start() - 1].isdigit():
        first = "^" if not match[0].startswith("</") else BLANK
    return first + BLANK * (len(match[0]) - 1)


def _entity(match: "re.Match[str]") -> str:
    meant = html.unescape(match[0])
    return meant + BLANK * (len(match[0]) - len(meant))


def _emphasis(text: str) -> str:
    for sign, pattern in _PAIRS.items():
        for _ in range(_NESTED):
            if sign not in text:
                break
            fresh = pattern.sub(_pair, text)
            if fresh == text:
                break
            text = fresh
    return text


def _pair(match: "re.Match[str]") -> str:
    """An emphasised stretch without its signs; the stars of `2*3*4` multiply."""
    size = len(match[1])
    after = match.string[match.end() : match.end() + 1]
    if match[1] == "*" and match[2][-1].isdigit() and after.isdigit():
        return match[0]
    return BLANK * size + match[2] + BLANK * size
