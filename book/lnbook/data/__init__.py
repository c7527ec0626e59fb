"""The data sets of the book: where they are looked for, and a loader for each kind.

`published(name)` looks in this order: `$LNLIB_DATA/<name>/` (files as published), the user's cache, a
download (checked by SHA-256; off with `LNLIB_OFFLINE=1`), and last an embedded stand-in that it announces.
A file that is there but corrupt is an error; lnbook never deletes it.

Of a user's own, which lnbook cannot fetch, `$LNLIB_DATA` may hold `iam_ondb/` (module `iam`), `coco_vgg/`
(`captions`) and `cnn/` (`cloze`); the modules say in which form. Scale "paper" reads them.

`load` reads pictures; `books`, `captions`, `readings`, `sentences` and `strokes` the data of the sequence
experiments.
"""

from lnbook.data.images import Images, load
from lnbook.data.sources import (
    DATA_SETS,
    DataError,
    StandInWarning,
    content_of,
    data_set,
    fetch,
    find,
    loaded,
    published,
    resolve_environment,
    verify,
)
