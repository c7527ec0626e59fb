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


def test_an_unknown_figure_is_refused_before_anything_is_written(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["explore", "offset", "axisflip", "--out", str(tmp_path / "figures")])
    assert "no figure is called axisflip; choose from axis_flip, " in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()
