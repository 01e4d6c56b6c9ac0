import pytest

from memsvc.notes.tags import body_tags


def test_tags_are_found_in_order_and_once() -> None:
    body = "#first words #nested/tag-x, (#in_brackets) and **#bold**\n#FIRST\n- #item\n> #quoted #v2 #2026-q1"
    assert body_tags(body) == (
        "first", "nested/tag-x", "in_brackets", "bold", "item", "quoted", "v2", "2026-q1",
    )  # fmt: skip


@pytest.mark.parametrize(("text", "tag"), [
    ("#日本語。", "日本語"), ("，#标签 字", "标签"), ("#день", "день"), ("#über-uns!", "über-uns"),
    ("#हिन्दी", "हिन्दी"), ("#🎉", "🎉"), ("#a/b/", "a/b"), (" #blank", "blank"), ("#y1984", "y1984"),
])  # fmt: skip
def test_tags_of_any_script_are_found(text: str, tag: str) -> None:
    assert body_tags(text) == (tag,)


@pytest.mark.parametrize(
    "text",
    [
        "# Heading",
        "## Heading #",
        "#123 and #2026",
        "a#b C# x&#35;",
        "https://a.example/#frag and <https://a.example/ #frag>",
        "[x](y#frag) [x](#frag) [[note#head]] [[#head]]",
        "`#code` ``#code``",
        "```\n#code\n```",
        "text\n\n    #code",
        "<!-- #no --> %% #no %%",
        "\\#no",
        "#",
        "# #",
        "",
    ],
)
def test_what_is_no_tag_is_left(text: str) -> None:
    assert body_tags(text) == ()
    assert body_tags(f"#yes\n\n{text}") == ("yes",)


@pytest.mark.parametrize("unit", ["#", "#a", "#a ", "[[", "](", "<a", "a", "a://", "`"])
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    assert body_tags("#first " + unit * (200_000 // len(unit)))[0] == "first"
