"""bAbI: stories that grow from question to question, answers as entities, and what is refused."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from lnbook.data import DataError, DataSet, PublishedFile
from lnbook.data.babi import load_babi, parse_babi

TEXT = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary went to the kitchen.
5 Where is Mary? \tkitchen\t4
1 Ann took the hallway.
2 Is Ann in the hallway?\thallway\t1
"""


def test_a_question_reads_the_story_so_far_and_a_new_story_begins_anew() -> None:
    first, second, third = parse_babi(TEXT)
    told = "mary moved to the @entity0 . john went to the @entity1 ."
    assert " ".join(first.passage) == told
    assert " ".join(second.passage) == told + " mary went to the @entity2 ."
    assert " ".join(third.passage) == "ann took the @entity1 ."
    assert third.query == ("is", "ann", "in", "the", "@entity1", "?", "@placeholder")
    assert [q.names[q.answer] for q in (first, second, third)] == ["bathroom", "kitchen", "hallway"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mary moved.", "line 1: 'Mary moved.' is neither"),
        ("1 Mary moved.\n\n2 John left.", "line 2: '' is neither"),
        ("1 Who moved?\tMary\t1", "line 1: a question before any sentence"),
        ("1 Mary moved.\n2 Who?\tMary", "line 2: .* is neither"),
    ],
)
def test_a_file_that_is_not_babis_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=f"qa1.txt, {message}"):
        parse_babi(text, "qa1.txt")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive of bAbI's form, and its entry in the registry."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, text in {"en/qa1_one_test.txt": TEXT, "en/qa10_ten_test.txt": TEXT[:40]}.items():
            info = tarfile.TarInfo(f"tasks/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    raw = gzip.compress(held.getvalue())
    file = PublishedFile("babi.tar.gz", hashlib.sha256(raw).hexdigest(), len(raw))
    entry = DataSet("babi", "bAbI", (file,), (), "CC BY 3.0", "Weston", "stories")
    monkeypatch.setitem(__import__("lnbook.data.registry").data.registry.DATA_SETS, "babi", entry)
    (tmp_path / "babi").mkdir()
    (tmp_path / "babi" / file.name).write_bytes(raw)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))


@pytest.mark.usefixtures("archive")
def test_a_task_is_found_in_the_archive_and_another_number_is_not_mistaken_for_it() -> None:
    assert load_babi(1, "test") == parse_babi(TEXT, "tasks/en/qa1_one_test.txt")
    with pytest.raises(DataError, match="has no task 2 with a part 'test'"):
        load_babi(2, "test")
    with pytest.raises(DataError, match="has no task 1 with a part 'train'"):
        load_babi(1, "train")
