"""IAM-OnDB, the paper's data, from a user's folder: handwritten lines, and what is written.

The database asks for a registration, so there is nothing to download. `$LNLIB_DATA/iam_ondb/` must hold,
unpacked as they come, `lineStrokes/` (an XML file a line), `ascii/` (a text file a form), and the four lists
of forms that are the parts of its recognition task ("task1"): `trainset.txt`, `testset_v.txt`,
`testset_t.txt` and `testset_f.txt`. No form and no writer is in two lists.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
from jaxtyping import Float

from .sources import Provenance
from .users import provenance_of, reading, users_own

# 57 codes, as many as the paper's: what stands for all other characters, blank, letters and some marks.
ALPHABET = "?" + " abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + ".,'"
LISTS = ("trainset.txt", "testset_v.txt", "testset_f.txt")  # training, first validation, final test
LACKING = 0.1  # of the listed forms may be without lines; if there are more, an archive is missing
ORIGIN = "https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database"

Line = tuple[str, Float[np.ndarray, "_ 3"]]


def load_forms(rng: np.random.Generator) -> tuple[list[list[Line]], Provenance]:
    """The lines of `$LNLIB_DATA/iam_ondb` to train on, to validate and to test on, each in random order."""
    folder = users_own("iam_ondb", f"Register at {ORIGIN} and unpack its archives, or take omniglot_strokes.")
    forms: dict[str, list[Line]] = {}
    for file in sorted((folder / "lineStrokes").rglob("*.xml")):
        forms.setdefault(file.stem.rpartition("-")[0], []).append(_read_line(folder, file))
    parts = []
    for name in LISTS:
        with reading(folder / name):
            listed = re.findall(r"^[a-z]\d\d-\d{3}[a-z]?$", (folder / name).read_text(), flags=re.MULTILINE)
            lacking = sum(form not in forms for form in listed)
            if not listed or lacking > LACKING * len(listed):
                raise ValueError(f"{lacking} of its {len(listed)} forms are not in lineStrokes/")
        part = [line for form in listed for line in forms.get(form, [])]
        rng.shuffle(part)
        parts.append(part)
    citation = "Liwicki, Bunke: IAM-OnDB, ICDAR (2005)"
    known = f"lists of the published task: {', '.join(LISTS)}"
    licence = "non-commercial research, after registration"
    return parts, provenance_of(folder, licence, citation, parts=known)


def _read_line(folder: Path, file: Path) -> Line:
    """The text of a line, and the pen's places: x, y upward, and 1 at the last point of each stroke."""
    form, _, number = file.stem.rpartition("-")
    source = folder / "ascii" / file.parent.relative_to(folder / "lineStrokes") / f"{form}.txt"
    with reading(file):
        below = source.read_text("latin-1").partition("CSR:")[2]
        lines = [line.strip() for line in below.splitlines() if line.strip()]
        text = "".join(c if c in ALPHABET else "?" for c in lines[int(number) - 1])
        strokes = [stroke.findall("Point") for stroke in ET.parse(file).findall("StrokeSet/Stroke")]
        rows = [(float(p.get("x", "")), -float(p.get("y", "")), p is s[-1]) for s in strokes for p in s]
        return text, np.array(rows).reshape(-1, 3)
