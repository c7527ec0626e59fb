"""IAM-OnDB, the paper's data, from a user's folder: handwritten lines, and what is written.

The database asks for a registration, so there is nothing to download. `$LNLIB_DATA/iam_ondb/` must hold,
unpacked as they come, `lineStrokes/` (an XML file a line) and `ascii/` (a text file a form); and, if the
parts are to be the published ones, the four lists of the task (`lnbook.data.iam_parts`).
"""

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from .dataset import DataError
from .files import digest_of_folder
from .iam_parts import FORM, published_parts
from .lookup import noted
from .users import read_bytes, read_text

__all__ = ["ALPHABET", "load_forms", "read_line", "read_lines", "read_transcript"]

# 57 codes, as many as the paper's: what stands for all other characters, blank, letters and some marks.
ALPHABET = "?" + " abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + ".,'"
LINE_BYTES, FORM_BYTES = 2**24, 2**20  # at most; a long line has 200 kB, a form 2 kB
FARTHEST = 1e6  # of a pen; the whiteboard has some 10,000 units
ORIGIN = "https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database"

Line = tuple[str, Float[np.ndarray, "_ 3"]]


def read_line(xml: bytes, name: str = "the file") -> Float[np.ndarray, "_ 3"]:
    """The pen's places in one XML file: x, y upward, and 1 at the last point of each stroke.

    Raises DataError for what is no such file, has no points, or brings declarations of its own.

    >>> read_line(b"<C><StrokeSet><Stroke><Point x='1' y='2'/><Point x='3' y='5'/></Stroke></StrokeSet></C>")
    array([[ 1., -2.,  0.],
           [ 3., -5.,  1.]])
    """
    try:
        root = ET.fromstring(xml, ET.XMLParser(target=_Plain(name)))
        strokes = root.findall("./StrokeSet/Stroke")
        drawn = [[(float(p.attrib["x"]), -float(p.attrib["y"])) for p in s.findall("Point")] for s in strokes]
    except DataError:
        raise
    except (KeyError, ValueError) as error:
        raise DataError(f"{name} has a Point without a number for x or y ({error}).") from error
    except (ET.ParseError, LookupError) as error:  # a LookupError is of an encoding that nobody knows
        raise DataError(f"{name} is no XML: {error}.") from error
    if not drawn or not all(drawn):
        raise DataError(f"{name} has {len(drawn)} strokes in StrokeSet, and each needs a Point.")
    rows = [(*point, float(k == len(stroke) - 1)) for stroke in drawn for k, point in enumerate(stroke)]
    found = np.array(rows)
    if not (np.abs(found) <= FARTHEST).all():
        raise DataError(f"{name} has a Point that is not finite, or farther than {FARTHEST:g} units.")
    return found


class _Plain(ET.TreeBuilder):
    """Elements of a file without a document type, in whatever encoding it may be: entities could be bombs."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def doctype(self, *_: object) -> None:
        raise DataError(f"{self._name} declares a document type; IAM-OnDB's files do not.")


def read_transcript(text: str, name: str = "the file") -> list[str]:
    """The lines of one form: those below "CSR:".

    Raises DataError if there are none.

    >>> read_transcript("OCR:\\n\\nA move\\n\\nCSR:\\n\\nA move to\\nstop Mr.\\n")
    ['A move to', 'stop Mr.']
    """
    _, mark, below = text.partition("CSR:")
    lines = [line.strip() for line in below.splitlines() if line.strip()]
    if not mark or not lines:
        raise DataError(f"{name} has no lines below 'CSR:'; it is no transcript of IAM-OnDB.")
    return lines


def read_lines(folder: Path) -> dict[str, list[Line]]:
    """Text and strokes of every line, by form and the letter of who wrote it, if it has one ("a01-000u").

    Characters outside of the alphabet become "?". Raises DataError for a folder that lacks something.
    """
    drawn, written = folder / "lineStrokes", folder / "ascii"
    files = sorted(drawn.rglob("*.xml"))
    if not files or not written.is_dir():
        raise DataError(
            f"{folder} must hold lineStrokes/ with .xml files ({len(files)} found) and ascii/, as unpacked "
            f"from the archives of {ORIGIN}."
        )
    found: dict[str, list[Line]] = {}
    transcripts: dict[Path, list[str]] = {}
    for file in files:
        match = re.fullmatch(rf"({FORM})-(\d\d)", file.stem)
        if not match:
            raise DataError(f"{file} is not named as a line of IAM-OnDB: a01-000u-01.xml.")
        source = written / file.parent.relative_to(drawn) / f"{match[1]}.txt"
        if source not in transcripts:
            if not source.is_file():
                raise DataError(f"{file} has no transcript {source}.")
            transcripts[source] = read_transcript(read_text(source, FORM_BYTES, "latin-1"), str(source))
        lines, number = transcripts[source], int(match[2])
        if not 1 <= number <= len(lines):
            raise DataError(f"{source} has {len(lines)} lines, and {file.name} is the {number}-th.")
        text = "".join(c if c in ALPHABET else "?" for c in lines[number - 1])
        found.setdefault(match[1], []).append((text, read_line(read_bytes(file, LINE_BYTES), str(file))))
    return found


def load_forms(rng: np.random.Generator) -> tuple[list[list[Line]], dict[str, Any]]:
    """The lines of `$LNLIB_DATA/iam_ondb` to train on, to validate on and to test on, each in random order.

    Where the lists of the published task lie there too, they make the parts. Else nine tenths of the forms
    are to train, half the rest each to judge: what one person or several wrote of a form stays together, but
    a writer may be in two parts. The provenance says which, as "parts".

    Raises DataError, with what to do, if there is no such folder.
    """
    root = os.environ.get("LNLIB_DATA")
    folder = Path(root or ".") / "iam_ondb"
    if not root or not folder.is_dir():
        raise DataError(
            f"IAM-OnDB needs a registration at {ORIGIN}. Unpack its lineStrokes-all.tar.gz and "
            "ascii-all.tar.gz into $LNLIB_DATA/iam_ondb/, or take omniglot_strokes."
        )
    forms = read_lines(folder)
    names, said = published_parts(folder, forms) or (_drawn(forms, folder, rng), "drawn at random by form")
    parts = [[line for name in part for line in forms[name]] for part in names]
    for part in parts:
        rng.shuffle(part)
    provenance = {
        "name": "iam_ondb",
        "requested": "iam_ondb",
        "source": "LNLIB_DATA",
        "licence": "non-commercial research, after registration",
        "citation": "Liwicki, Bunke: IAM-OnDB, ICDAR (2005)",
        "sha256": digest_of_folder(folder),
        "parts": said,
    }
    return parts, noted(provenance)


def _drawn(forms: Iterable[str], folder: Path, rng: np.random.Generator) -> list[list[str]]:
    """Parts in which no text of a form is twice, whoever wrote it."""
    texts: dict[str, list[str]] = {}
    for name in forms:
        texts.setdefault(name[:7], []).append(name)
    drawn = rng.permutation(sorted(texts))
    if len(drawn) < 3:
        raise DataError(f"{folder} has {len(drawn)} forms; to train, validate and test takes 3 at least.")
    few = max(1, len(drawn) // 20)
    ends = [0, len(drawn) - 2 * few, len(drawn) - few, len(drawn)]
    return [[name for text in drawn[a:b] for name in texts[str(text)]] for a, b in pairwise(ends)]
