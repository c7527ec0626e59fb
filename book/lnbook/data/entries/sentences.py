"""Labelled sentences and sentence pairs."""

from lnbook.data.dataset import DataSet, PublishedFile

__all__ = ["DATA_SETS"]

_RAW = "https://raw.githubusercontent.com"
_NLTK = f"{_RAW}/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
_CUSTREV = f"{_RAW}/harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296/data/raw"
_SICK_AT = f"{_RAW}/brmson/dataset-sts/e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081/data/sts/sick2014"


def _at(address: str, *rows: tuple[str, str, int]) -> tuple[PublishedFile, ...]:
    return tuple(PublishedFile(name, sha256, size, f"{address}/{name}") for name, sha256, size in rows)


_CLASSIFICATION = DataSet(
    name="sentence_classification",
    title="sentences in two classes: movie reviews, subjectivity, customer reviews, pros and cons",
    files=(
        *_at(
            _NLTK,
            (
                "sentence_polarity.zip",
                "6e1ed4405b65c7eabf1d199a7f7c437091ac21da0ea7467b410a74062574566b",
                490_256,
            ),
            ("subjectivity.zip", "741f3371e1a4375051b874fd82fd55857b90975473c91c19a3101cbe17fc4d8c", 521_628),
            ("pros_cons.zip", "b5bca541ba5b2e614cde2213ddcca027416f6997067c90e45c173bf55c6fade8", 746_276),
        ),
        *_at(
            _CUSTREV,
            ("custrev.pos", "15eeb0b9424043bb3755488e2d8ed97bdaeba464a5c230f213bad075125d2192", 225_449),
            ("custrev.neg", "8f29d7fa39f9862764b71f36b193f0674e0056287ffc5bf170edf6db42cc8f83", 141_095),
        ),
    ),
    mirrors=(),
    licence="CC BY 4.0",
    citation=(
        "Pang, Lee (ACL 2004 and 2005); Hu, Liu (KDD 2004); Ganapathibhotla, Liu (COLING 2008); "
        "as passed on by NLTK and by Wang, Manning (ACL 2012)"
    ),
    stand_in="sentence_templates",
)

_SICK = DataSet(
    name="sick",
    title="SICK: 9,927 pairs of sentences and how related they are",
    files=_at(
        _SICK_AT,
        ("SICK_train.txt", "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e", 506_243),
        ("SICK_trial.txt", "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56", 57_225),
        (
            "SICK_test_annotated.txt",
            "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0",
            559_979,
        ),
    ),
    mirrors=(),
    licence="CC BY-NC-SA 3.0 (not for commercial use)",
    citation="Marelli and others: A SICK cure for the evaluation of compositional models, LREC (2014)",
    stand_in="sentence_templates",
    consent=True,
)

_TEMPLATES = DataSet(
    name="sentence_templates",
    title="sentences made from templates, with labels that follow from their words",
    files=(),
    mirrors=(),
    licence="that of lnbook",
    citation="lnbook.data.templates",
)

DATA_SETS: tuple[DataSet, ...] = (_CLASSIFICATION, _SICK, _TEMPLATES)
