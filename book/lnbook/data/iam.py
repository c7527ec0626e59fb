"""IAM-OnDB, the paper's data, from a user's folder: handwritten lines, and what is written.

The database asks for a registration, so there is nothing to download. `$LNLIB_DATA/iam_ondb/` must hold,
unpacked as they come, `lineStrokes/` (an XML file a line), `ascii/` (a text file a form), and the four lists
of forms that are the parts of its recognition task ("task1"): `trainset.txt`, `testset_v.txt`,
`testset_t.txt` and `testset_f.txt`. No form and no writer is in two lists.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from .datasets import DataError
from .users import provenance_of, read_text, users_own

__all__ = ["ALPHABET", "load_forms", "read_line"]

# 57 codes, as many as the paper's: what stands for all other characters, blank, letters and some marks.
ALPHABET = "?" + " abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + ".,'"
LISTS = ("trainset.txt", "testset_v.txt", "testset_f.txt")  # training, first validation, final test
LACKING = 0.1  # of the listed forms may be without lines; if there are more, an archive is missing
ORIGIN = "https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database"

Line = tuple[str, Float[np.ndarray, "_ 3"]]


def read_line(xml: str) -> Float[np.ndarray, "_ 3"]:
    """The pen's places in one XML file: x, y upward, and 1 at the last point of each stroke.

    >>> read_line("<C><StrokeSet><Stroke><Point x='1' y='2'/><Point x='3' y='5'/></Stroke></StrokeSet></C>")
    array([[ 1., -2.,  0.],
           [ 3., -5.,  1.]])
    """
    strokes = [stroke.findall("Point") for stroke in ET.fromstring(xml).findall("./StrokeSet/Stroke")]
    rows = [(float(p.attrib["x"]), -float(p.attrib["y"]), p is some[-1]) for some in strokes for p in some]
    if not rows or not np.isfinite(rows).all():
        raise ValueError(f"{len(rows)} points, which must be at least one and finite")
    return np.array(rows)


def _read_lines(folder: Path) -> dict[str, list[Line]]:
    """Text, other characters as "?", and strokes of every line, by form, as "a01-000u"."""
    found: dict[str, list[Line]] = {}
    for file in sorted((folder / "lineStrokes").rglob("*.xml")):
        form, _, number = file.stem.rpartition("-")
        source = folder / "ascii" / file.parent.relative_to(folder / "lineStrokes") / f"{form}.txt"
        below = read_text(source, "latin-1").partition("CSR:")[2]
        lines = [line.strip() for line in below.splitlines() if line.strip()]
        try:
            text = "".join(c if c in ALPHABET else "?" for c in lines[int(number) - 1])
            found.setdefault(form, []).append((text, read_line(read_text(file))))
        except (ET.ParseError, LookupError, ValueError) as error:
            raise DataError(f"{file} is no line of IAM-OnDB, or not in {source}: {error}.") from error
    return found


def load_forms(rng: np.random.Generator) -> tuple[list[list[Line]], dict[str, Any]]:
    """The lines of `$LNLIB_DATA/iam_ondb` to train on, to validate on and to test on, each in random order.

    Raises DataError, with what to do, for a folder that lacks something or a damaged file.
    """
    folder = users_own("iam_ondb", f"Register at {ORIGIN} and unpack its archives, or take omniglot_strokes.")
    forms, parts = _read_lines(folder), []
    for name in LISTS:
        listed = re.findall(r"^[a-z]\d\d-\d{3}[a-z]?$", read_text(folder / name), flags=re.MULTILINE)
        lacking = [form for form in listed if form not in forms]
        if not listed or len(lacking) > LACKING * len(listed):
            raise DataError(
                f"{folder} has no lines for {len(lacking)} of the {len(listed)} forms that {name} names; "
                f"unpack all of lineStrokes-all.tar.gz and ascii-all.tar.gz, and get the list again."
            )
        part = [line for form in listed if form in forms for line in forms[form]]
        rng.shuffle(part)
        parts.append(part)
    citation = "Liwicki, Bunke: IAM-OnDB, ICDAR (2005)"
    known = f"lists of the published task: {', '.join(LISTS)}"
    licence = "non-commercial research, after registration"
    return parts, provenance_of(folder, licence, citation, parts=known)
