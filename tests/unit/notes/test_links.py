import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsvc.notes.links import Linkable, LinkResolver, link_targets_of, parse_links

NOTES = [
    Linkable("heron", "heron/heron.md", "Heron release", ("the bird", "Graureiher")),
    Linkable("plan-heron", "heron/plan.md", "Plan"),
    Linkable("plan-crane", "crane/plan.md", "Plan"),
    Linkable("plan-deep", "crane/old/2025/plan.md", "Plan"),
    Linkable("root", "index.md", "Start here"),
    Linkable("space", "heron/a b (c).md", "Spaced"),
    Linkable("umlaut", "heron/Übersicht.md", "Overview"),
    Linkable("dotted", "shared/v1.2 notes.md", "Dotted"),
]
RESOLVER = LinkResolver(NOTES)


def targets(body: str) -> list[str]:
    return [link.target for link in parse_links(body)]


def test_every_form_of_link_is_read() -> None:
    body = (
        "See [[heron]], [[heron/plan|the plan]], [[plan#Next steps#Soon]], [[plan#^b-1]], ![[pic.png]],\n"
        "[[#Here]], [a **b**](../a%20b.md#Part%201), [c](<x y.md> 'title'), ![d](img/d.png), [e](f_(g).md)\n"
        "and | [[a\\|b]] | in a table, [![inner](i.png)](outer.md)."
    )
    found = parse_links(body)
    seen = [
        (link.target, link.heading, link.block, link.alias, link.embed, link.style[0])
        for link in found
    ]
    assert seen == [
        ("heron", "", "", "", False, "w"),
        ("heron/plan", "", "", "the plan", False, "w"),
        ("plan", "Next steps#Soon", "", "", False, "w"),
        ("plan", "", "b-1", "", False, "w"),
        ("pic.png", "", "", "", True, "w"),
        ("", "Here", "", "", False, "w"),
        ("../a b.md", "Part 1", "", "a **b**", False, "m"),
        ("./x y.md", "", "", "c", False, "m"),
        ("./img/d.png", "", "", "d", True, "m"),
        ("./f_(g).md", "", "", "e", False, "m"),
        ("a", "", "", "b", False, "w"),
        ("./outer.md", "", "", "![inner](i.png)", False, "m"),
        ("./i.png", "", "", "inner", True, "m"),
    ]
    for link in found:
        source = body[link.start : link.end]
        assert source.startswith(("[", "!["))
        assert source.endswith(("]]", ")"))


HIDDEN = {
    "fence": "```\n[[no]] [x](no.md)\n```",
    "fence of tildes": "~~~ js\n[[no]]\n```\n[[no]]\n~~~",
    "fence in a list": "- item\n  ```\n  [[no]]\n  ```",
    "fence in a quote": "> ```\n> [[no]]\n> ```",
    "open fence": "text\n\n````md\n[[no]]\n```\n[[no]]",
    "indented": "text\n\n    [[no]]\n\n\t[[no]]",
    "ticks": "`[[no]]` and ``a ` [[no]]``",
    "html comment": "<!-- [[no]]\n[[no]] -->",
    "Obsidian comment": "%% [[no]]\n\n[[no]] %%",
    "url": "[x](https://no.example/[[no) [y](mailto:no@no) [z](//no)",
    "empty": "[[]] [[ ]] [[|no]] [x]() ![]()",
    "not closed": "[[no\n]] [x](no",
}


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN.keys())
def test_code_comments_and_addresses_hold_no_links(hidden: str) -> None:
    assert targets(f"[[yes]]\n\n{hidden}") == ["yes"]
    if "open" not in hidden and "````" not in hidden:
        assert targets(f"[[yes]]\n\n{hidden}\n\nand [[too]]") == ["yes", "too"]


def test_a_fence_ends_and_an_indented_item_is_no_code() -> None:
    assert targets("```\n[[no]]\n```\n[[yes]]") == ["yes"]
    assert targets("> ```\n> [[no]]\n[[yes]]") == ["yes"]
    assert targets("- item\n\n    [[continued]]\n") == ["continued"]
    assert targets("a ` [[one]]\n\nand ` [[two]]") == ["one", "two"]


@pytest.mark.parametrize(
    ("target", "from_path", "key"),
    [
        ("heron/plan", "x.md", "plan-heron"),
        ("heron/plan.md", "crane/x.md", "plan-heron"),
        ("/crane/plan", "heron/x.md", "plan-crane"),
        ("old/2025/plan", "heron/x.md", "plan-deep"),
        ("plan", "heron/x.md", "plan-heron"),
        ("plan", "crane/x.md", "plan-crane"),
        ("plan", "crane/old/2025/x.md", "plan-deep"),
        ("plan", "index.md", "plan-crane"),
        ("PLAN", "heron/x.md", "plan-heron"),
        ("./plan.md", "crane/x.md", "plan-crane"),
        ("../heron/plan.md", "crane/x.md", "plan-heron"),
        ("./heron.md", "crane/x.md", "heron"),
        ("index", "heron/x.md", "root"),
        ("the bird", "x.md", "heron"),
        ("Graureiher", "x.md", "heron"),
        ("heron release", "x.md", "heron"),
        ("Plan", "crane/old/x.md", "plan-crane"),
        ("a b (c)", "x.md", "space"),
        ("U\u0308bersicht", "x.md", "umlaut"),
        ("ÜBERSICHT", "x.md", "umlaut"),
        ("v1.2 notes", "x.md", "dotted"),
    ],
)
def test_a_target_means_the_nearest_note_of_that_name(
    target: str, from_path: str, key: str
) -> None:
    assert RESOLVER.resolve(target, from_path=from_path) == key
    assert RESOLVER.resolve(f"{target}-not", from_path=from_path) is None


@pytest.mark.parametrize(
    "target",
    [
        "",
        " ",
        "../../../index.md",
        "../nothing.md",
        "/plan",
        "lan",
        "eron/plan",
        "pic.png",
        "x" * 5000,
    ],
)
def test_what_names_no_note_means_none(target: str) -> None:
    assert RESOLVER.resolve(target, from_path="heron/x.md") is None
    assert RESOLVER.resolve("plan", from_path="heron/x.md") == "plan-heron"


def test_the_order_of_the_notes_does_not_matter() -> None:
    backwards = LinkResolver(reversed([*NOTES, Linkable("copy", "HERON/Plan.md", "Plan")]))
    forwards = LinkResolver([*NOTES, Linkable("copy", "HERON/Plan.md", "Plan")])
    for target in ("plan", "heron/plan", "Heron release", "index"):
        for place in ("x.md", "heron/x.md", "crane/old/x.md"):
            found = forwards.resolve(target, from_path=place)
            assert found is not None
            assert found == backwards.resolve(target, from_path=place)


def test_a_resolver_knows_only_its_own_notes() -> None:
    only = LinkResolver(note for note in NOTES if note.path.startswith("crane/"))
    assert only.resolve("plan", from_path="heron/x.md") == "plan-crane"
    assert only.resolve("heron/plan", from_path="heron/x.md") is None


def test_frontmatter_values_name_their_links() -> None:
    assert link_targets_of("[[heron-deadline|old]]") == ["heron-deadline"]
    assert link_targets_of(["[[a]]", "b", "see [[c#d]] and [[a]]", 5, None]) == ["a", "c"]
    assert link_targets_of([["heron"]]) == ["heron"]
    assert link_targets_of([[["heron"]], [["crane, grey"]], "[[x]]"]) == [
        "heron",
        "crane, grey",
        "x",
    ]
    assert link_targets_of([["a", "b"]]) == ["a, b"]
    assert link_targets_of(["plain", "words"]) == []
    assert link_targets_of({"a": "[[b]]"}) == link_targets_of(None) == link_targets_of(7) == []


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="[]!()|#^`~ab%<>-\\/. \n\t:é", max_size=60))
def test_any_text_parses_and_a_link_after_it_is_found(text: str) -> None:
    for link in parse_links(text):
        assert text[link.start : link.end].count("[") >= 1
    fenced = "```" in text or "~~~" in text
    assert (
        fenced or "%%" in text or "<!--" in text or "yes" in targets(f"{text}\n\nwords\n\n[[yes]]")
    )


@pytest.mark.parametrize(
    "unit", ["[[", "[", "](", "[a](", "[[a|", "![", "`", "%%", "<!--", "[x](y)", "](((", "[[a]]", "    a\n", "```\n"]
)  # fmt: skip
def test_hostile_text_is_parsed_in_linear_time(unit: str) -> None:
    body = unit * (300_000 // len(unit))
    assert targets(f"[[first]]\n\n{body}")[0] == "first"


def test_twenty_thousand_notes_make_a_resolver() -> None:
    many = [
        Linkable(str(n), f"p{n % 50}/note-{n}.md", f"Note {n}", (f"n{n}",)) for n in range(20_000)
    ]
    resolver = LinkResolver(many)
    assert resolver.resolve("note-19999", from_path="x.md") == "19999"
    assert resolver.resolve("note-20000", from_path="x.md") is None
