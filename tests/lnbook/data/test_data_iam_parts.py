"""IAM-OnDB's published parts: the lists of forms, and what is wrong with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lnbook.data import DataError, loaded
from lnbook.data.iam_parts import LISTS, published_parts, read_list
from lnbook.data.strokes import Lines, Wanted, load_lines

FORMS = ("a01-000u", "a01-000x", "a01-001z", "a02-050", "b01-004", "c02-000z")
SHARES = {
    "trainset.txt": ("a01-000u", "a02-050"),
    "testset_v.txt": ("a01-001z",),
    "testset_t.txt": ("b01-004",),
    "testset_f.txt": ("c02-000z",),
}


@pytest.fixture(autouse=True)
def each_folder_is_read_anew() -> Iterator[None]:
    load_lines.cache_clear()
    yield
    load_lines.cache_clear()


def lists(place: Path, **changes: str) -> Path:
    """The four lists as published, a blank before each form; `trainset="..."` replaces that list."""
    place.mkdir(parents=True, exist_ok=True)
    for name, forms in SHARES.items():
        content = "".join(f" {form}\n" for form in forms)
        (place / name).write_text(changes.get(name.removesuffix(".txt"), content))
    return place


def database(folder: Path) -> Path:
    """Forms of one line each, told apart by their texts; two people wrote a01-000."""
    for k, form in enumerate(FORMS):
        for kind in ("lineStrokes", "ascii"):
            (folder / kind / form[:3] / form[:7]).mkdir(parents=True, exist_ok=True)
        points = "".join(f"<Point x='{x * x}' y='{x**3}'/>" for x in range(3 + k))
        xml = f"<C><StrokeSet><Stroke>{points}</Stroke></StrokeSet></C>"
        (folder / "lineStrokes" / form[:3] / form[:7] / f"{form}-01.xml").write_text(xml)
        (folder / "ascii" / form[:3] / form[:7] / f"{form}.txt").write_text(f"CSR:\n\n{'ab' * (k + 1)}\n")
    return folder


def loaded_lines(root: Path, monkeypatch: pytest.MonkeyPatch, seed: int = 0) -> Lines:
    monkeypatch.setenv("LNLIB_DATA", str(root))
    load_lines.cache_clear()
    return load_lines("iam_ondb", Wanted(99, 99, 99), seed=seed)


@pytest.mark.parametrize("place", [".", "task1"])
def test_the_lists_make_the_parts_wherever_they_lie(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists(database(tmp_path / "iam_ondb") / place)
    found = loaded_lines(tmp_path, monkeypatch)
    # points to predict are 2 for the first of FORMS and one more for each next: they tell the form
    told = [sorted(part.lengths.tolist()) for part in (found.train, found.valid, found.test)]
    assert told == [[2, 5], [4], [7]]  # neither a01-000x, which is listed nowhere, nor the second validation
    assert found.provenance["parts"].startswith("lists of the published task: trainset.txt, testset_v.txt, ")
    assert any(entry["name"] == "iam_ondb" and "parts" in entry for entry in loaded())


def test_without_lists_what_several_people_wrote_of_a_form_stays_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database(tmp_path / "iam_ondb")
    for seed in range(6):
        found = loaded_lines(tmp_path, monkeypatch, seed)
        parts = [set(part.lengths.tolist()) for part in (found.train, found.valid, found.test)]
        assert sum(len(part) for part in parts) == 6
        assert [{2, 3} <= part for part in parts].count(True) == 1
        assert found.provenance["parts"] == "drawn at random by form"


def test_a_listed_form_without_lines_is_counted_and_many_are_an_error(tmp_path: Path) -> None:
    more = " ".join(f"d{k // 10:02d}-{k % 10:03d}" for k in range(20)).replace(" ", "\n")
    known = {*FORMS, *more.splitlines()}
    lists(tmp_path, trainset=f"a01-000u\n{more}\n")
    found = published_parts(tmp_path, known - {"d00-003"})
    assert found is not None
    parts, said = found
    assert [len(part) for part in parts] == [20, 1, 1]
    assert said.endswith("; 1 listed forms have no lines")
    with pytest.raises(DataError, match=r"no lines for 20 of the 24 forms .* example d00-000; unpack all"):
        published_parts(tmp_path, FORMS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a01-000u\na01-00\n", r"trainset.txt, line 2: 'a01-00' is not .* IAM-OnDB form, such as a01-000u"),
        ("a01-000u-01\n", "line 1: 'a01-000u-01' is not the name of"),
        ("\n \n", "names 0 forms"),
        ("a02-050\na01-000u\na02-050\n", "names 3 forms, 2 of them distinct"),
        ("", "has 0 bytes"),
    ],
)
def test_a_damaged_list_is_refused_by_its_line(tmp_path: Path, content: str, message: str) -> None:
    lists(tmp_path, trainset=content)
    with pytest.raises(DataError, match=message):
        published_parts(tmp_path, FORMS)


def test_a_list_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trainset.txt"
    path.write_bytes("a01-000u\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"trainset.txt is not UTF-8 text"):
        read_list(path)


def test_parts_that_share_a_form_and_lists_that_are_missing_are_refused(tmp_path: Path) -> None:
    lists(tmp_path, testset_f="a02-050\n")
    with pytest.raises(DataError, match=r"must not share a form; forms in two lists: a02-050 \(1 in all\)"):
        published_parts(tmp_path, FORMS)
    (tmp_path / "testset_t.txt").unlink()
    with pytest.raises(DataError, match=r"lacks testset_t.txt of the four lists .* or remove the others"):
        published_parts(tmp_path, FORMS)


def test_two_folders_of_lists_must_agree(tmp_path: Path) -> None:
    assert published_parts(tmp_path, FORMS) is None
    for task in ("task1", "task2"):
        lists(tmp_path / task)
    assert published_parts(tmp_path, FORMS) is not None
    lists(tmp_path / "task2", trainset="a01-000u\n")
    with pytest.raises(DataError, match=r"task1 and .*task2 hold different lists"):
        published_parts(tmp_path, FORMS)


def test_the_lists_have_the_names_of_the_published_task() -> None:
    assert tuple(LISTS.values()) == tuple(SHARES)
