"""Notes for measuring, the same for the same seed: short facts, a few long pages, links, tags."""

import random
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Corpus", "make_corpus", "write_corpus"]

_PROJECTS = ("heron", "osprey", "curlew", "plover", "merlin")
_SUBJECTS = (
    "release", "deadline", "budget", "deploy port", "staging host", "on-call rota", "schema",
    "retry policy", "cache", "login flow", "backup window", "import job", "dashboard", "queue",
    "feature flag", "rate limit", "invoice run", "search index", "mail gateway", "audit export",
)  # fmt: skip
_VERBS = ("moved to", "depends on", "was agreed with", "is owned by", "replaces", "waits for")
_THINGS = (
    "the platform team", "Marit Quintanar", "the Lisbon office", "version 4.2", "node gpt-4o",
    "12 March", "port 6544", "the nightly build", "the vendor contract", "the new parser",
    "region eu-west-3", "the steering group", "a manual check", "the old cluster",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Corpus:
    """Files by path relative to the vault, and questions with the path that answers each."""

    files: dict[str, str]
    questions: list[tuple[str, str, str]]
    """Project, question, path."""


def make_corpus(count: int, *, seed: int = 20261130) -> Corpus:
    """`count` notes in five projects; one in twenty is a long page."""
    chance = random.Random(seed)
    files: dict[str, str] = {}
    questions: list[tuple[str, str, str]] = []
    for number in range(count):
        project = _PROJECTS[number % len(_PROJECTS)]
        subject = chance.choice(_SUBJECTS)
        name = f"{subject.replace(' ', '-')}-{number}"
        path = f"{project}/{name}.md"
        key = f"item {number}"
        sentences = [f"The {subject} of {key} {chance.choice(_VERBS)} {chance.choice(_THINGS)}."]
        more = 60 if number % 20 == 0 else chance.randint(1, 4)
        sentences.extend(
            f"{chance.choice(_SUBJECTS).capitalize()} {chance.choice(_VERBS)} "
            f"{chance.choice(_THINGS)} and {chance.choice(_THINGS)}."
            for _ in range(more)
        )
        paragraphs = [" ".join(sentences[at : at + 5]) for at in range(0, len(sentences), 5)]
        body = "\n\n".join(paragraphs)
        files[path] = f"---\ntitle: {subject.capitalize()} {number}\ntags: [bench]\n---\n{body}\n"
        if number % 7 == 0:
            questions.append((project, f"what is the {subject} of {key}", path))
    return Corpus(files, questions)


def write_corpus(corpus: Corpus, vault: Path) -> None:
    """Write the files into a vault's folder."""
    for path, text in corpus.files.items():
        target = vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
