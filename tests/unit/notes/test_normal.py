import importlib.util
import json
import re
import unicodedata
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memsvc.notes.normal import fold, normal_form, other_reading

SENTENCE = "The Heron release moved to 12 March 2026."
FORM = "the heron release moved to 12 march 2026"

DRESSED = {
    "bold and italic": "**The** Heron release *moved* to 12 March 2026!",
    "bold digits": "The Heron release moved to **1**2 March **2026**",
    "bold part of a number": "The Heron release moved to 1**2** March 2026",
    "nested emphasis": "**The *Heron* release** moved to ***12* March** 2026",
    "underscores": "_The Heron release_ moved to __12 March__ 2026",
    "highlight and strike": "==The Heron release== moved to ~~12 March~~ 2026",
    "list item": "- The Heron release moved to 12 March 2026",
    "nested item in a quote": "> * + The Heron release moved to 12 March 2026",
    "first ordered item": "1. The Heron release moved to 12 March 2026",
    "task": "- [x] The Heron release moved to 12 March 2026",
    "heading": "### The Heron release moved to 12 March 2026 ###",
    "quote": ">> The Heron release moved to 12 March 2026",
    "callout": "> [!note] The Heron release moved to 12 March 2026",
    "table row": "| The Heron release | moved to 12 March 2026 |",
    "fence": "```text\nThe Heron release moved to 12 March 2026\n```",
    "setext heading": "The Heron release moved to 12 March 2026\n=====",
    "link": "The [Heron release](https://heron.example/a_(b)) moved to 12 March 2026",
    "link with bold label": "The [**Heron** release](x.md 'title') moved to 12 March 2026",
    "image": "![The Heron release](pic.png) moved to 12 March 2026",
    "wikilink": "The [[Heron]] release moved to 12 March 2026",
    "wikilink with alias": "The [[projects/heron|Heron release]] moved to 12 March 2026",
    "wikilink in a table": "| The [[projects/heron\\|Heron release]] moved to 12 March 2026 |",
    "code ticks": "The `Heron` release moved to ``12`` March 2026",
    "html": "<b>The Heron</b> release <span class='x'>moved</span> to 12 March 2026<br/>",
    "html comment": "The Heron <!-- 3 --> release moved to 12 March 2026 %% 4 %%",
    "entities": "The Heron release&nbsp;moved to 12 M&#97;rch 20&#x32;6",
    "escapes": "The Heron release moved to 12 March 2026\\.",
    "footnote": "The Heron release moved to 12 March 2026[^1]",
    "block id": "The Heron release moved to 12 March 2026 ^heron-1",
    "capitals": "THE HERON RELEASE MOVED TO 12 MARCH 2026",
    "spacing": "  The  Heron\trelease\r\nmoved\u00a0to\u300012 March 2026\u2003",
    "punctuation": "“The Heron” release, moved — to: 12 March (2026)…",
    "no full stop": "The Heron release moved to 12 March 2026",
    "full width": "Ｔｈｅ Ｈｅｒｏｎ ｒｅｌｅａｓｅ ｍｏｖｅｄ ｔｏ １２ Ｍａｒｃｈ ２０２６．",
    "mathematical letters": "𝐓𝐡𝐞 𝑯𝒆𝒓𝒐𝒏 𝓻𝓮𝓵𝓮𝓪𝓼𝓮 𝚖𝚘𝚟𝚎𝚍 to 𝟙𝟚 March 𝟐𝟎𝟐𝟔",
    "Arabic digits": "The Heron release moved to ١٢ March ۲۰۲۶",
    "Cyrillic": "Тhе Неrоn rеlеаsе mоvеd tо 12 Маrсh 2026",
    "Greek": "Τhe Ηerοn releαse mονed tο 12 Μarch 2026",
    "Cherokee and Lisu": "Ꭲhe ꓧeron release moved to 12 ꓟarch 2026",
    "letters as digits": "The Heron release moved to l2 March 2O26",
    "digits as letters": "The Her0n re1ease m0ved to 12 March 2026",
    "zero width": "The He\u200bron rel\u200dea\ufeffse mo\u2060ved to 1\u200c2 March 2026",
    "soft hyphens": "The He\u00adron re\u00adlease moved to 12 March 2026",
    "right to left": "The \u202eHeron\u202c release\u200f moved to \u206612\u2069 March 2026",
    "tags and selectors": "The\U000e0041 Heron\ufe0f release moved to 12\U000e0100 March 2026",
    "controls": "The He\x08ron release\x1b moved to 12 March 2026\x7f",
    "accents": "Thé Hèrön rélease moved tó 12 Mårch 2026",
    "combining marks": "The\u0301 He\u0336ron rel\u20ddease moved to 1\u03362 March 2026",
    "strokes": "The Herøn reŀease moveđ ŧo 12 March 2026",
    "decoration": "✅ The Heron release moved to 12 March 2026 🎉🎉",
}


@pytest.mark.parametrize("dressed", DRESSED.values(), ids=DRESSED.keys())
def test_a_statement_in_other_clothes_has_the_same_normal_form(dressed: str) -> None:
    assert normal_form(SENTENCE) == FORM
    assert normal_form(dressed) == FORM
    assert normal_form(dressed.replace("12", "13").replace("2026", "2027")) != FORM or (
        "12" not in dressed and "2026" not in dressed
    )


DIFFERENT = (
    ("due 3 March", "due 12 March", "due 31 March", "not due 3 March", "due 3 May"),
    ("use C++", "use C", "use C#", "use F#"),
    ("at -5", "at 5", "at +5", "at 5%", "at $5", "at €5", "at 5°", "at 5‰"),
    ("take 1.5", "take 15", "take 1,5", "take 1/5", "take 1:5", "take 1-5", "take 1 5"),
    ("Python 3.11", "Python 3.1", "Python 3.1.1", "Python 311"),
    ("v2", "v3", "v2.0"),
    ("10²", "102", "10₂", "10", "10<sup>3</sup>"),
    ("1½", "11/2", "1 1½", "½"),
    ("2*3*4", "234"),
    ("2*3", "23", "2**3", "2 3", "2^3", "2+3"),
    ("x < 5", "x > 5", "x <= 5", "x >= 5", "x = 5", "x != 5"),
    ("if ready", "if !ready", "if not ready"),
    ("a -> b", "b -> a", "a b"),
    ("port 10", "port 100", "port 1", "port 0", "port 110", "port 101"),
    ("10:04", "1004", "10.04"),
    ("2l of water", "21 of water", "12 of water"),
    ("snake_case", "snakecase", "snake case"),
    ("main.py", "mainpy"),
    ("dark mode ❌", "dark mode ✅"),
    ("api 🟢", "api 🔴"),
    ("office 🇩🇪", "office 🇫🇷"),
    ("🎉", "👍", "***"),
    ("12. März ist der Termin", "13. März ist der Termin"),
    ("1, 200 and 3", "1200 and 3"),
    ("発売は3月", "発売は4月", "発売は3月ではない"),
    ("か", "が"),
    ("हिन्दी", "हन्द"),
    ("ใคร", "ไกร"),
    ("Merge iff x", "Merge if x"),
    ("modern", "modem"),
)


@pytest.mark.parametrize("values", DIFFERENT, ids=lambda values: values[0])
def test_numbers_names_negation_and_signs_stay_apart(values: tuple[str, ...]) -> None:
    for one, other in combinations(values, 2):
        assert normal_form(one) != normal_form(other), (one, other)
    for value in values:
        if any(char.isalnum() for char in value):
            assert normal_form(f"> - {value}") == normal_form(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a != b", "a ≠ b"),
        ("due 3 March", "due З March"),
        ("port 13", "port 1З"),
        ("发布推迟", "发\ufe00布\U000e0101推\u2065迟"),
        ("x<=5", "x ≤ 5"),
        ("x=5", "x = 5"),
        ("3 - 5 days", "3–5 days"),
        ("budget 1,000,000", "budget 1000000"),
        ("don’t", "don't"),
        ("an up-to-date list", "an up to date list"),
        ("gpt-4o", "GPT‑4o"),
        ("5 %", "5%"),
        ("发布推迟到 3 月。", "发布推迟到3月"),
        ("データベース", "ﾃﾞｰﾀﾍﾞｰｽ"),
        ("1. a b\n2. c d", "- a b\n- c d"),
        ("straße", "STRASSE"),
        ("Ελλάδα", "ΕΛΛΑΔΑ"),
        ("Закон", "ЗАКОН"),
        ("İstanbul", "istanbul"),
    ],
)
def test_one_value_written_in_two_ways_is_one(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other) != ""
    assert normal_form(f"{one} 7") != normal_form(f"{other} 8")


def test_a_text_that_looks_like_two_is_read_as_both() -> None:
    assert normal_form(other_reading("Port ӏist ΤΕΝ")) == "port list ten"
    assert normal_form("Port ӏist") == "port iist"
    assert other_reading("ΤΕΝ") == other_reading("list ten") == other_reading("ünten ΑΘ") == ""
    assert [other_reading(f"{one} ӏ") for one in "azAZ"] == ["a l", "z l", "A l", "Z l"]
    assert other_reading("B ΗΝ") == "B HN"


def test_signs_alone_are_a_value_without_their_width_and_what_stands_beside_a_picture() -> None:
    assert normal_form("！？") == normal_form("!?") == "!?"
    assert normal_form("🎉!") == normal_form("🎉") != normal_form("🚀!")
    assert normal_form("...") not in ("", normal_form("!!!"))


def test_a_digit_in_a_word_is_a_letter_only_among_three() -> None:
    assert normal_form("f1ag") == "flag"
    assert normal_form("a1b") == "a1b"


def test_compatibility_forms_and_marks_become_what_a_reader_sees() -> None:
    assert normal_form("20 ℃") == normal_form("20 °C")
    assert normal_form("か\u3099") == "が"
    assert normal_form("ab\u093c c") == "ab c"
    assert normal_form("क\u093c") != normal_form("क")
    for ignored in "\ufe00\ufe0f\u180b\u180f\ufff0\ufffb\U000e0000\U000e0fff\u2065":
        assert normal_form(f"her{ignored}on") == "heron"
        assert normal_form(f"字{ignored}字") == "字字"
    assert normal_form("🇦🇿 🇿🇦") == "az za"
    assert normal_form("3—5") != normal_form("3-5") == normal_form("3–5")
    assert [normal_form(f"{one}Ν") for one in "azAZ"] == ["an", "zn", "an", "zn"]
    assert normal_form("Ν") == normal_form("ν") != "n"
    assert [normal_form(one) for one in ("2ƽo", "ƽ", "ƽƽ", "2ƽb")] == ["250", "5", "ss", "2sb"]
    assert fold("✗") == ""


def test_signs_around_a_statement_are_no_part_of_it() -> None:
    assert normal_form("→ = heron & owl + →") == normal_form("heron & owl") == "heron & owl"


WORDS = """
able about above accept account across action active actual address after again against agree air
all allow alone along also always among amount angle animal answer apple area arm around arrive art
ask away back bad bail ball bank bar base bath bear beat beauty bed before begin behind bell best
better between big bill bird bit black blood blow blue board boat body bold bone book born both
bottom bow box boy branch brand bread break bring brown build burn busy but buy call came camp can
car card care carry case cat catch cause cell cent center chain chair change charge check chief child
choose circle city claim class clean clear climb clock close cloth cloud coal coast coat cold collect
colony color come common company compare complete cook cool copy corn corner cost could count country
course cover cow create crop cross crowd cry current cut dad dance danger dark day dead deal dear
death decide deep degree depend describe desert design develop dial did die differ dim direct discuss
distant divide doctor does dog dollar done door double down draw dream dress drink drive drop dry duck
during each ear early earth ease east eat edge effect egg eight either electric element else end enemy
energy engine enough enter equal even evening event ever every exact example except excite exercise
expect experience experiment eye face fact fail fair fall family famous far farm fast fat father favor
fear feed feel feet fell felt few field fig fight figure fill final find fine finger finish fire first
fish fit five flat floor flow flower fly follow food foot for force forest form forward found four
fraction free fresh friend from front fruit full fun game garden gas gather gave general gentle get
girl give glad glass gold gone good got govern grand grass gray great green grew ground group grow
guess guide gun hail hair half hall hand happen happy hard has hat have hear heart heat heavy held
ill lil jail lain lam mail mall pail pall rail sail tail tall walt wait burn bum corn com modem modern
"""


def test_ordinary_words_and_numbers_stay_pairwise_distinct() -> None:
    values = sorted({*WORDS.split(), *(str(number) for number in range(1000))})
    assert len(values) > 1300
    assert len({normal_form(f"the value is {value} now") for value in values}) == len(values)
    assert normal_form("the value is ＦＡＩＬ now") == normal_form("the value is fail now")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
@example("\x1f^0")
def test_the_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    form = normal_form(text)
    assert normal_form(form) == form
    assert normal_form(f"{text} and the port is 5433") != ""


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*"ab1 0ol.,-*_`~=<>[](){}|\\#!&;:'\"/%+^@?é²½…—\n", "[[", "]]", "**"]),
        max_size=25,
    ).map("".join)
)
def test_markup_in_any_order_leaves_a_stable_form(text: str) -> None:
    form = normal_form(text)
    assert normal_form(form) == form


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_two_numbers_never_merge(one: int, other: int) -> None:
    assert (normal_form(f"port {one}") == normal_form(f"port {other}")) == (one == other)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_nothing_invisible_survives(text: str) -> None:
    form = normal_form(text)
    kinds = {unicodedata.category(char) for char in form}
    assert not kinds & {"Cf", "Cc", "Zl", "Zp"}
    assert form == form.strip()
    assert "  " not in form
    assert re.search(r"[A-Z]", form) is None


@pytest.mark.parametrize(
    "unit",
    ["[", "](", "*", "*a ", "_a", "`a", "<!--", "%%", "> ", "- ", "&#", "[[a|", "<b", "1", "1 ",
     " ", ".", "-", "=", "a=", "\u0301", "\n", "l0", "a0", "#", "\\", "![](a", "~~a"],
)  # fmt: skip
def test_hostile_repetition_is_read_in_linear_time(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    assert isinstance(normal_form(text), str)
    assert normal_form(f"The port is 5433. {text}") != normal_form(f"The port is 5432. {text}")


def test_fold_keeps_markdown_signs_that_normal_form_reads() -> None:
    assert fold("x `y` 2*3") == "x y 2*3"
    assert fold("[label](target 7)") != normal_form("[label](target 7)") == "label"


def _generator() -> ModuleType:
    path = Path(__file__).parents[3] / "config" / "make_confusables.py"
    spec = importlib.util.spec_from_file_location("make_confusables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shipped_look_alikes_are_closed_and_name_no_ascii() -> None:
    data = json.loads(
        files("memsvc.notes").joinpath("data/confusables.json").read_text(encoding="ascii")
    )
    letters: dict[str, str] = data["letters"]
    assert letters["а"] == "a"
    assert letters["н"] == "h"
    assert not any(source.isascii() for part in data.values() for source in part)
    assert not any(char in letters for target in letters.values() for char in target)
    assert set(data["digits"].values()) <= set("23456789")


def test_the_generator_folds_capitals_and_follows_targets() -> None:
    made = _generator().table(lambda text: {"н": "ʜ", "Н": "H", "ѕ": "s", "ꜱ": "ѕ"}.get(text, text))
    assert made["letters"]["н"] == "h"
    assert made["letters"]["ꜱ"] == "s"
    assert "ʜ" not in made["letters"]
