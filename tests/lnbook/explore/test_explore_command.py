"""`python -m lnbook explore`: the files it writes, and what it says where it cannot."""

import pytest

from lnbook.__main__ import main
from lnbook.explore import FIGURES, builder
from lnbook.explore.offset import offset


def test_all_figures_are_written_as_pages_of_their_own(tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    assert main(["explore", "--out", str(folder)]) == 0
    paths = sorted(folder.iterdir())
    assert [path.stem for path in paths] == sorted(FIGURES)
    assert sorted(capsys.readouterr().out.split()) == [str(path) for path in paths]
    for path in paths:
        page = path.read_text(encoding="utf-8")
        figure = builder(path.stem)()
        assert page == figure.to_html()
        assert page.startswith("<!doctype html>")
        assert f"<title>{figure.title}</title>" in page


def test_only_the_named_figures_are_written_and_the_seed_is_theirs(tmp_path, capsys):
    assert main(["explore", "offset", "axis_flip", "offset", "--seed", "3", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["axis_flip.html", "offset.html"]
    assert len(capsys.readouterr().out.split()) == 2
    assert (tmp_path / "offset.html").read_text(encoding="utf-8") == offset(seed=3).to_html()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["axisflip"], 2, "no figure is called axisflip; choose from axis_flip, "),
        (["offset", "all", "each"], 2, "no figure is called all, each; choose from"),
        (["offset", "--seed", "-1"], 2, "a seed is a whole number from 0 on, got -1"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    arguments, status, message, tmp_path, capsys
):
    folder = tmp_path / "figures"
    assert main(["explore", *arguments, "--out", str(folder)]) == status
    assert message in capsys.readouterr().err
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_an_error_of_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["explore", "offset", "--out", str(tmp_path / "file")]) == 1
    message = capsys.readouterr().err
    assert "give another folder with --out" in message
    assert message.count("\n") == 1
