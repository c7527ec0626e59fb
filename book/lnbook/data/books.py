"""Novels as running text, and running text as sentences.

The books are Project Gutenberg's, whose files begin and end with words of its own; between them stand title
pages, contents and headings, which `sentences` leaves out. Where the books are not available, the help that
Python brings on its own language serves: prose, but of one author and much repetition.
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pydoc_data.topics import topics

from .sources import OnStandIn, Provenance, data_set, published

_START = re.compile(r"^\*\*\* ?START OF [^\n]*\*\*\*.*$|^\*END\*THE SMALL PRINT.*$", re.MULTILINE)
_END = re.compile(r"(?im)^\*\*\* ?END OF |^(?:End of (?:the |this )?|\*)Project Gutenberg")


@dataclass(frozen=True)
class Books:
    """Whole books: their bodies, with lines and paragraphs as printed, title pages and headings too."""

    titles: tuple[str, ...]
    texts: tuple[str, ...]
    provenance: Provenance


def load_books(on_stand_in: OnStandIn = "warn", *, name: str = "gutenberg") -> Books:
    """The 43 novels, or, where they are not available or the name is "python_topics", Python's own help."""
    files, provenance = published(name, on_stand_in=on_stand_in)
    if len(files) == 1:  # one archive of all
        with tarfile.open(fileobj=io.BytesIO(*files.values())) as archive:
            streams = {member.name: archive.extractfile(member) for member in archive}
            files = {name: stream.read() for name, stream in streams.items() if stream}
    if files:
        texts = {file.title: body(files[file.name].decode("latin-1")) for file in data_set("gutenberg").files}
    else:
        texts = {title: text for title, whole in sorted(topics.items()) if (text := prose(whole))}
        provenance["sha256"] = hashlib.sha256("".join(texts.values()).encode()).hexdigest()
    provenance["cases"] = len(texts)
    return Books(tuple(texts), tuple(texts.values()), provenance)


def body(text: str) -> str:
    """What stands between the words that Project Gutenberg puts before and after a book."""
    begun = _START.split(text.replace("\r\n", "\n"), maxsplit=1)[1]
    return _END.split(begun, maxsplit=1)[0].strip()


_MARKUP = re.compile(r'[*`"“”]')
_ITEM = re.compile(r"\s*(?:[*-]|\d+\.)\s+")


def prose(text: str) -> str:
    """The paragraphs of a text in reStructuredText that are plain prose: no headings, code or tables."""
    kept = []
    for block in re.split(r"\n\s*\n", text):
        plain = _MARKUP.sub("", _ITEM.sub("", block, count=1)).replace("’", "'").replace("…", "...")
        plain = "\n".join(line.strip() for line in plain.splitlines())
        letters = sum(c.isalpha() or c.isspace() for c in plain)
        if re.fullmatch(r"[A-Z][^_]*\.", plain) and letters > 0.93 * len(plain):
            kept.append(plain)
    return "\n\n".join(kept)


_NOTE = re.compile(r"\[(?:Illustration|Footnote|Sidenote|\d+|\*)[^\]]*\]|_")
_CLOSED = re.compile(r"""[.!?:;,\-]["')\]*]*$""")
_HEADING = re.compile(
    r"(?:chapter|book|part|volume|stave|canto|letter|scene|act|section)\s+"
    r"(?:the\s+)?(?:[ivxlcdm]+|\d+|first|second|third|fourth|fifth|last|one|two|three|four|five)\b"
    r"|(?-i:[IVXLCDM]+\. )",
    re.IGNORECASE,
)
_BREAK = re.compile(r"""(\S*[.!?])["')\]]*\s+(?=["'(\[]*[A-Z0-9])""")
_TITLES = """Mr. Mrs. Ms. Messrs. Mme. Mlle. Dr. Prof. Rev. Hon. St. Sir. Col. Capt. Gen. Maj. Lieut. Lt.
    Sergt. Sgt. Jr. Sr. Esq. vs. viz. cf. Mt. Ft. i.e. e.g."""
_ABBREVIATED = frozenset(_TITLES.split())


def sentences(text: str) -> list[str]:
    """The sentences of a book's body in their order, each on one line, without headings and contents.

    A paragraph that no sign closes, one in capitals, and a short one that counts a chapter or a book are
    headings. A sentence ends with ".", "!" or "?", and quotes or brackets behind it, where a capital or a
    number follows: but not behind a title (Mr.), an initial or in mid-quote ("Why?" said he).
    """
    return [sentence for paragraph in _paragraphs(text) for sentence in _split(paragraph)]


def _paragraphs(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", _NOTE.sub("", text)):
        line = " ".join(block.replace("--", " -- ").split())
        heading = len(line) < 100 and (line.isupper() or _HEADING.match(line))
        if _CLOSED.search(line) and not heading and re.search(r"[a-z]", line):
            yield line


def _split(paragraph: str) -> Iterator[str]:
    start = 0
    for found in _BREAK.finditer(paragraph):
        word = found[1].lstrip("\"'([-")
        initial = len(word) == 2 and word[0].isupper() and word != "I."
        number = word == "No." and paragraph[found.end()].isdigit()
        if not (initial or number or word in _ABBREVIATED):
            yield paragraph[start : found.end()].rstrip()
            start = found.end()
    if start < len(paragraph):
        yield paragraph[start:]
