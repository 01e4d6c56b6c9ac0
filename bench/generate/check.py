"""Checks the gold of a generated vault against its files."""

import re

from bench.generate.model import Generated, Question

__all__ = ["faults", "plain_links"]

_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_CLASSES = {
    "fact": 1,
    "bridge": 2,
    "paraphrase": 1,
    "paraphrase_bridge": 2,
    "temporal": 1,
    "absent_entity": 0,
    "absent_attribute": 0,
}
"""How many notes a question of the class needs at least."""


def plain_links(text: str) -> str:
    """The text with each link turned into its label."""
    return _LINK.sub(r"\1", text)


def faults(generated: Generated) -> list[str]:
    """What is wrong with the gold, one line each; none when it holds."""
    notes = {_stem(path): plain_links(text) for path, text in generated.files.items()}
    found = []
    if len(notes) != len(generated.files):
        found.append("two files have the same name")
    texts = [question.question for question in generated.questions]
    found.extend(f"asked twice: {text}" for text in {t for t in texts if texts.count(t) > 1})
    for question in generated.questions:
        found.extend(f"{question.id} {why}" for why in _faults(question, notes))
    return found


def _faults(question: Question, notes: dict[str, str]) -> list[str]:
    least = _CLASSES[question.cls]
    if least == 0:
        given = question.answers or question.support or question.evidence
        return ["should have no gold"] if given else []
    found = []
    if len(question.support) < least:
        found.append("needs more notes")
    if re.search(r"[{}]", question.question):
        found.append("has an unfilled placeholder")
    found.extend(f"needs an unknown note {stem}" for stem in question.support if stem not in notes)
    texts = [notes.get(stem, "") for stem in question.support]
    found.extend(
        f"quotes what no note says: {line}"
        for line in question.evidence
        if not any(line in text for text in texts)
    )
    if not question.evidence or not any(_holds(question.evidence[-1], a) for a in question.answers):
        found.append("has an answer that its evidence lacks")
    return found


def _holds(text: str, answer: str) -> bool:
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(answer.lower())}(?![a-z0-9])", text.lower()))


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md").lower()
