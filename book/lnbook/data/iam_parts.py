"""The parts of IAM-OnDB as its authors publish them: the four lists of forms of its recognition task.

A list has one form per line, named like the form's files: "a01-000u", or "a02-050" where the name has no
letter. No form and no writer is in two lists.
"""

import re
from collections.abc import Collection
from pathlib import Path

from .dataset import DataError
from .users import read_text

__all__ = ["FORM", "LISTS", "published_parts", "read_list"]

# by purpose: training, the first and the second validation, the final test
LISTS = {"train": "trainset.txt", "valid": "testset_v.txt", "spare": "testset_t.txt", "test": "testset_f.txt"}
FORM = r"[a-z]\d\d-\d{3}[a-z]?"
LIST_BYTES = 2**20  # at most; the longest has 775 forms
LACKING = 0.1  # of the listed forms may be without lines; if there are more, an archive is missing


def read_list(path: Path) -> list[str]:
    """The forms of one list.

    Raises DataError for an empty list, a line that is not the name of a form, and a form named twice.
    """
    lines = [line.strip() for line in read_text(path, LIST_BYTES).splitlines()]
    for number, line in enumerate(lines, 1):
        if line and not re.fullmatch(FORM, line):
            raise DataError(
                f"{path}, line {number}: {line[:40]!r} is not the name of an IAM-OnDB form, such as "
                f"a01-000u; get the list again."
            )
    forms = [line for line in lines if line]
    if not forms or len(set(forms)) < len(forms):
        raise DataError(
            f"{path} names {len(forms)} forms, {len(set(forms))} of them distinct; a list must name at least "
            f"one form, and each form once. Get it again."
        )
    return forms


def published_parts(folder: Path, known: Collection[str]) -> tuple[list[list[str]], str] | None:
    """The forms for training, validation (the first validation set) and test, and where that split is from.

    Args:
        folder: the user's; the lists are in it, or in one of its folders, such as "task1" of the archive.
        known: the forms that have lines. Listed forms without lines are left out and counted.

    Returns None if there are no lists. Raises DataError if some of the four lists are missing or damaged, if
    two folders hold different lists, if a form is in two lists, and if more than a tenth of the listed forms
    have no lines.
    """
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    places = [place for place in places if any((place / name).exists() for name in LISTS.values())]
    found = [_lists(place) for place in places]
    if not found:
        return None
    if any(other != found[0] for other in found[1:]):
        raise DataError(
            f"{' and '.join(map(str, places))} hold different lists; keep those of one task in {folder}."
        )
    held = found[0]
    listed = [form for forms in held.values() for form in forms]
    if twice := sorted({form for form in listed if listed.count(form) > 1}):
        raise DataError(
            f"{places[0]}: the parts must not share a form; forms in two lists: {', '.join(twice[:3])} "
            f"({len(twice)} in all). Get the lists again."
        )
    lacking = [form for form in listed if form not in known]
    if len(lacking) > LACKING * len(listed):
        raise DataError(
            f"{folder} has no lines for {len(lacking)} of the {len(listed)} forms that the lists in "
            f"{places[0]} name, for example {lacking[0]}; unpack all of lineStrokes-all.tar.gz."
        )
    parts = [[form for form in held[part] if form in known] for part in ("train", "valid", "test")]
    said = f"lists of the published task: {', '.join(LISTS[part] for part in ('train', 'valid', 'test'))}"
    return parts, said + (f"; {len(lacking)} listed forms have no lines" if lacking else "")


def _lists(place: Path) -> dict[str, list[str]]:
    if missing := [name for name in LISTS.values() if not (place / name).is_file()]:
        raise DataError(
            f"{place} lacks {', '.join(missing)} of the four lists {', '.join(LISTS.values())}; put all "
            f"four there, or remove the others to have the parts drawn at random."
        )
    return {part: read_list(place / name) for part, name in LISTS.items()}
