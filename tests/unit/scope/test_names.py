"""Names of vaults and projects: what is legal, and what becomes of any other text."""

import unicodedata

import pytest

from memsvc.errors import InvalidInput
from memsvc.scope.names import check_project, check_vault, is_project, project_slug


@pytest.mark.parametrize(
    "text", ["heron", "h", "7", "heron-2.1_b", "bücher", "日本", "a" * 64, "ö" * 32, "con-project"]
)
def test_a_legal_name_is_taken_as_it_is(text: str) -> None:
    assert is_project(text)
    assert {str(made(text)) for made in (check_project, check_vault, project_slug)} == {text}


@pytest.mark.guarantee("S2")
@pytest.mark.parametrize(
    "text",
    ["", " ", "*", "%", "[]", ".", "..", "a..b", "a/b", "a\\b", "../a", "-a", "a-", "_a", "a_", ".a",
     "Heron", "heron\n", "\nheron", "he ron", "con", "nul", "all", "any", "none", "null", "auto",
     "a" * 65, "ö" * 33, "\uf900", unicodedata.normalize("NFD", "bücher")],
)  # fmt: skip
def test_any_other_name_is_refused_and_says_which_argument(text: str) -> None:
    assert not is_project(text)
    for check, argument in ((check_project, "project"), (check_vault, "vault")):
        with pytest.raises(InvalidInput) as refused:
            check(text)
        assert refused.value.data["argument"] == argument


def test_shared_is_a_project_and_no_vault() -> None:
    assert check_project("shared") == "shared"
    with pytest.raises(InvalidInput):
        check_vault("shared")


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Heron Release", "heron-release"),
        ("a  &  b", "a-b"),
        ("a -- b", "a-b"),
        ("a...b", "a-b"),
        ("../../etc", "etc"),
        ("-_.heron._-", "heron"),
        (unicodedata.normalize("NFD", "Bücher"), "bücher"),
        ("CON", "con-project"),
        ("auto", "auto-project"),
        ("", "shared"),
        ("***", "shared"),
        ("x" * 100, "x" * 64),
        ("ö" * 50, "ö" * 32),
        ("a" * 63 + "-b", "a" * 63),
    ],
)
def test_any_text_becomes_a_legal_name(text: str, slug: str) -> None:
    assert project_slug(text) == slug
    assert is_project(slug)
