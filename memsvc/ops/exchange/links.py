"""Keeps links working when notes get other names or places: only those that would break are rewritten."""

import posixpath
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from memsvc.model.exchange import Outline, Planned
from memsvc.notes.links import Link, LinkResolver, parse_links

__all__ = ["LinkMap"]


class LinkMap:
    """Which record each link of the source means, and how it is written here."""

    def __init__(
        self, outlines: Iterable[Outline], planned: Mapping[str, Planned], *, roots: bool
    ) -> None:
        known = [one for one in outlines if one.key in planned]
        self._planned = planned
        self._paths = {one.key: one.found_at for one in known}
        self._roots = roots
        self._there = LinkResolver((one.key, one.found_at, one.title, one.aliases) for one in known)
        self._here = LinkResolver(
            (one.key, planned[one.key].path, one.title, one.aliases) for one in known
        )

    def meant(self, text: str, *, by: Outline) -> str:
        """The key of the record that a text names in the record `by`: a key, or a link's target."""
        if text in self._paths:
            return text
        return self._there.resolve(text, from_path=by.found_at) or ""

    def rewritten(self, body: str, *, by: Outline) -> str:
        """The body with those links changed that would mean something else, or nothing, here."""
        if "[[" not in body and "](" not in body:
            return body
        pieces: list[str] = []
        at = 0
        for link in parse_links(body):
            new = self._written(link, body[link.start : link.end], by=by)
            if new and link.start >= at:
                pieces += (body[at : link.start], new)
                at = link.end
        return "".join([*pieces, body[at:]]) if pieces else body

    def _written(self, link: Link, source: str, *, by: Outline) -> str:
        """The link as it must be written here; empty where it stays."""
        if not link.target:
            return ""
        key = self.meant(link.target, by=by)
        if not key or self._holds(link, key, by=by):
            return ""
        here = self._planned[key].path
        if link.style == "wiki":
            inside = source[source.index("[[") + 2 : -2]
            name, bar, alias = inside.partition("|")
            escaped = "\\" if name.endswith("\\") else ""
            _, mark, rest = name.removesuffix("\\").partition("#")
            target = here.removesuffix(".md") + mark + rest + escaped
            return f"{'!' if link.embed else ''}[[{target}{bar}{alias}]]"
        start = source.rindex("](") + 2
        _, mark, rest = source[start:-1].strip().strip("<>").partition("#")
        folder = posixpath.dirname(self._planned[by.key].path)
        relative = quote(posixpath.relpath(here, folder or "."), safe="/()!,;=+@&~'")
        relative = relative.replace("(", "%28").replace(")", "%29")
        return f"{source[:start]}{relative}{mark}{rest})"

    def _holds(self, link: Link, key: str, *, by: Outline) -> bool:
        """Whether the link, as it is written, means the same record here."""
        here = self._planned[key].path
        if posixpath.basename(here) != posixpath.basename(self._paths[key]):
            return False  # another note may have the name now
        if link.target.startswith("/") and self._roots:
            return False
        return self._here.resolve(link.target, from_path=self._planned[by.key].path) == key
