"""Settings: precedence, typos, and one clear line for what cannot be used."""

from pathlib import Path

import pytest

from memsvc.errors import Misconfigured
from memsvc.settings import FILE_NAME, Settings, load_settings, write_setting


def home_with(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    return {"MEMSVC_HOME": str(tmp_path)}


def test_nothing_given_means_the_defaults_in_the_users_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = load_settings({})
    assert settings.home == tmp_path / ".memsvc"
    assert settings.embedder == "packaged"
    assert (settings.vault, settings.project, settings.principal) == ("", "", "")


def test_arguments_beat_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    environ = home_with(tmp_path, 'vault = "file"\nproject = "file"\nsession = "file"\n')
    environ |= {"MEMSVC_VAULT": "environ", "MEMSVC_PROJECT": "environ"}
    settings = load_settings(environ, {"vault": "argument", "project": ""})
    assert (settings.vault, settings.project, settings.session) == ("argument", "environ", "file")


def test_the_home_argument_decides_which_file_is_read(tmp_path: Path) -> None:
    environ = home_with(tmp_path, 'vault = "environ"\n')
    other = tmp_path / "other"
    other.mkdir()
    (other / FILE_NAME).write_text('vault = "other"\n', encoding="utf-8")
    assert load_settings(environ).vault == "environ"
    assert load_settings(environ, {"home": str(other)}).vault == "other"


def test_an_empty_variable_counts_as_not_given(tmp_path: Path) -> None:
    environ = home_with(tmp_path, 'vault = "file"\n')
    assert load_settings({**environ, "MEMSVC_VAULT": "  "}).vault == "file"
    assert load_settings({**environ, "MEMSVC_VAULT": "team"}).vault == "team"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('projct = "x"\n', "'projct' in memsvc.toml is no setting; did you mean 'project'?"),
        ("zzz = 1\n", "legal keys: vault, project"),
        ('home = "/x"\n', "'home' in memsvc.toml is no setting"),
        ("vault = \n", "not valid TOML"),
        ('embedder = "gpt"\n', "'embedder' in memsvc.toml"),
        ("vault = 5\n", "'vault' in memsvc.toml"),
        ('principal = "robot:x"\n', "use kind:name"),
        ("[vault]\nname = 1\n", "'vault' in memsvc.toml"),
    ],
)
def test_what_the_file_cannot_hold_is_one_line_that_names_it(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(Misconfigured) as caught:
        load_settings(home_with(tmp_path, text))
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert str(tmp_path) not in caught.value.message
    assert load_settings(home_with(tmp_path, 'vault = "team"\n')).vault == "team"


def test_a_misspelt_variable_is_an_error_and_a_foreign_one_is_not(tmp_path: Path) -> None:
    environ = home_with(tmp_path, "")
    assert load_settings({**environ, "MEMSVC_SOMETHING_ELSE": "1"}).vault == ""
    with pytest.raises(Misconfigured, match="did you mean MEMSVC_PROJECT"):
        load_settings({**environ, "MEMSVC_PROJCT": "x"})


def test_a_bad_variable_and_a_bad_argument_say_where_they_come_from(tmp_path: Path) -> None:
    environ = home_with(tmp_path, "")
    with pytest.raises(Misconfigured, match="'embedder' in the environment"):
        load_settings({**environ, "MEMSVC_EMBEDDER": "gpt"})
    with pytest.raises(Misconfigured, match="'embedder' in the arguments"):
        load_settings(environ, {"embedder": "gpt"})


def test_a_home_that_is_a_file_is_said_so(tmp_path: Path) -> None:
    file = tmp_path / "plain"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(Misconfigured, match="home is not a folder"):
        load_settings({"MEMSVC_HOME": str(file)})


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Packaged", "packaged"),
        ("NONE", "none"),
        ("BGE-small-en-v1.5", "bge-small-en-v1.5"),
        ("folder:/Models/Mine", "folder:/Models/Mine"),
        ("Folder: ~/mine", "folder:~/mine"),
    ],
)
def test_a_model_is_named_in_any_case_and_a_folder_as_it_is(given: str, meant: str) -> None:
    assert load_settings({"MEMSVC_EMBEDDER": given}).embedder == meant
    for wrong in ("folder:", "folder", "ms-marco-MiniLM-L-6-v2"):
        with pytest.raises(Misconfigured, match="use packaged, none, multilingual-e5-small"):
            load_settings({"MEMSVC_EMBEDDER": wrong})


def test_there_is_no_reranker_unless_one_is_named() -> None:
    assert load_settings({}).reranker == "none"
    named = load_settings({"MEMSVC_RERANKER": "ms-marco-minilm-l-6-v2"})
    assert named.reranker == "ms-marco-MiniLM-L-6-v2"
    with pytest.raises(Misconfigured, match="'reranker' in the environment"):
        load_settings({"MEMSVC_RERANKER": "packaged"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'embedder = "none"\n'),
        ("# mine\r\nvault = 'team'", "# mine\r\nvault = 'team'\r\nembedder = \"none\"\r\n"),
        (
            "embedder = 'packaged'  # small\nvault = 'embedder = 1'\n",
            "embedder = \"none\"  # small\nvault = 'embedder = 1'\n",
        ),
    ],
)
def test_a_setting_is_written_and_every_other_byte_stays(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / FILE_NAME
    if before:
        path.write_bytes(before.encode())
    write_setting(tmp_path, "embedder", "none")
    assert path.read_bytes() == after.encode()
    assert load_settings({"MEMSVC_HOME": str(tmp_path)}).embedder == "none"
    write_setting(tmp_path, "embedder", 'folder:/a "b"\\c')
    assert load_settings({"MEMSVC_HOME": str(tmp_path)}).embedder == 'folder:/a "b"\\c'
    with pytest.raises(Misconfigured, match="'embedder' in the arguments"):
        write_setting(tmp_path, "embedder", "gpt")
    assert [one.name for one in tmp_path.iterdir()] == [FILE_NAME]


def test_a_damaged_settings_file_is_not_written(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("vault = [")
    with pytest.raises(Misconfigured, match="not valid TOML"):
        write_setting(tmp_path, "embedder", "none")
    assert (tmp_path / FILE_NAME).read_text() == "vault = ["
