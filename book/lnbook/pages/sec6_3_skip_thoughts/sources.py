"""Which data each scale reads: "paper" the paper's own if a user has them, else their stand-ins."""

from lnbook.data.users import present
from lnbook.pages.sec6_3_skip_thoughts import stored
from lnbook.pages.sec6_3_skip_thoughts.reading import Corpus, corpus, judged_words
from lnbook.pages.sec6_3_skip_thoughts.widening import widened
from lnbook.training import Job

BOOKS = {"smoke": "python_topics", "book": "gutenberg", "study": "gutenberg", "paper": "gutenberg"}


def judged_by_mpqa(scale: str) -> bool:
    """Whether MPQA judges in place of pros and cons."""
    return scale == "paper" and present("mpqa")


def names_of(job: Job, scale: str) -> list[str]:
    """The names of the data sets that a run is meant to read."""
    vectors = ["word2vec"] if _word2vec(scale) else []
    judges = ["sentence_classification", "sick", *(["mpqa"] if judged_by_mpqa(scale) else [])]
    return [_books(scale), *vectors, *(judges if job["judged"] and scale != "smoke" else [])]


def corpus_of(job: Job, scale: str) -> Corpus:
    """The books that a job reads, and the word vectors that its judging uses."""
    books, words, vectors, longest = (int(job[key]) for key in ("books", "words", "vectors", "longest"))
    sizes = (words, 0 if _word2vec(scale) else vectors, longest)
    name = _books(scale)
    text = stored.corpus(*sizes) if name == "bookcorpus" else corpus(name, books, *sizes)
    return widened(text, judged_words(real=True, mpqa=judged_by_mpqa(scale))) if _word2vec(scale) else text


def _books(scale: str) -> str:
    return "bookcorpus" if scale == "paper" and present("bookcorpus") else BOOKS[scale]


def _word2vec(scale: str) -> bool:
    return scale == "paper" and present("word2vec")
