r"""Pictures and their captions, in parts for training, validation and test.

`load_captions("coco_captions")` joins COCO's captions with boxes around objects; pictures without a box
(48 of 5,000) are left out, the others split at random by a fixed seed: 500 to validate, 1,000 to test.
`load_captions("scenes")` generates the stand-in. `load_features` reads the paper's data: Karpathy's
splits with features of a convnet, as Vendrov and others published them.

Between the captions of scenes a partial order is known. A thing is a set of attributes, say {small, red,
ball}; a description is a set of fewer of them, and no other: "a red ball", "something small". Thing $a$ is as
special as $b$ if $b\subseteq a$. A text describes several things. Text $u$ stands above text $v$, written
$v\preceq u$ ("v entails u"), if each of $u$'s things can be given one of $v$'s, no two the same, that is as
special. A scene is its complete text, and a caption is true of it if it stands above.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, permutations
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64, Int64

from .sources import Provenance, data_set, published
from .users import provenance_of, reading, users_own

PARTS = ("train", "valid", "test")
SCENES = {"train": 800, "valid": 100, "test": 200}
SIZES = ("small", "large")
COLORS = ("red", "green", "blue", "yellow")
SHAPES = ("ball", "box", "cone", "star")
CLASSES = tuple(f"{color} {shape}" for color in COLORS for shape in SHAPES)
Text = tuple[frozenset[str], ...]  # one set of attributes for each thing


@dataclass(frozen=True)
class Boxes:
    """Where the objects of one picture are: one box at least."""

    width: float  # of the picture
    height: float
    corners: Float64[np.ndarray, "B 4"]  # left, top, right, bottom of each box, in the same unit; y goes down
    classes: Int64[np.ndarray, " B"]


@dataclass(frozen=True)
class Captioned:
    """Pictures of one part, and the captions of each."""

    features: Float32[np.ndarray, "I F"]  # of each picture, of length 1
    texts: Sequence[str]  # the captions, picture after picture
    owner: Int64[np.ndarray, " C"]  # the number of each caption's picture, in rising order
    boxes: Sequence[Boxes] = ()
    meaning: tuple[Sequence[Text], Sequence[Text]] = ((), ())  # of pictures and captions: the scenes' order

    def first(self, captions: int) -> "Captioned":
        """Only the first `captions` captions of each picture."""
        place = np.arange(len(self.owner)) - np.searchsorted(self.owner, self.owner)
        kept = place < captions
        meaning = self.meaning[0], list(compress(self.meaning[1], kept))
        texts = list(compress(self.texts, kept))
        return replace(self, texts=texts, owner=self.owner[kept], meaning=meaning)


@dataclass(frozen=True)
class Captions:
    """The parts "train", "valid" and "test", where they come from, and the names of the boxes' classes."""

    parts: Mapping[str, Captioned]
    provenance: Provenance
    classes: Sequence[str] = ()


def load_captions(name: str = "coco_captions") -> Captions:
    """Captions, and pictures as vectors of boxes: "coco_captions" or, silently, the stand-in "scenes"."""
    files, provenance = published(name, on_stand_in="silent")
    if files:
        classes = data_set("coco_captions").classes
        found = _coco(files["captions_val2017.json"], files["val2017.txt"], len(classes))
        return Captions(found, provenance, classes)
    generator = np.random.default_rng(61)
    made = {part: _scenes(count, generator) for part, count in SCENES.items()}
    return Captions(made, provenance, CLASSES)


def load_features() -> Captions:
    """The paper's data: five captions per picture, a convnet's features, of length 1, in Karpathy's parts.

    *Source* the layout of `coco.zip` of github.com/ivendrov/order-embedding, published with the code of
    Vendrov and others (2016), which `$LNLIB_DATA/coco_vgg` must have: `train.txt`, `val.txt`, `test.txt` with
    one caption per line, and `images/10crop/train.npy` and so on, ten crops of a picture through VGG-19.
    """
    folder = users_own("coco_vgg", "Unpack the coco.zip of github.com/ivendrov/order-embedding there.")
    parts = {}
    for part, name in zip(PARTS, ("train", "val", "test"), strict=True):
        place = folder / "images" / "10crop" / f"{name}.npy"
        with reading(place):
            texts = (folder / f"{name}.txt").read_text("utf-8").splitlines()
            vectors = np.load(place, allow_pickle=False).astype(np.float32)
            if len(texts) != 5 * len(vectors):
                raise ValueError(f"{len(vectors)} vectors for {len(texts)} captions, not one for every five")
        owner = np.arange(len(texts), dtype=np.int64) // 5
        parts[part] = Captioned(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), texts, owner)
    return Captions(parts, provenance_of(folder, "annotations CC BY 4.0", "Vendrov (2016)"))


def _coco(captions: bytes, boxes: bytes, classes: int) -> dict[str, Captioned]:
    listing = json.loads(captions)
    sizes = {image["id"]: (image["width"], image["height"]) for image in listing["images"]}
    seen = {}
    for line in boxes.decode().splitlines():
        path, *found = line.split()
        number = int(Path(path).stem)
        rows = np.array([entry.split(",") for entry in found], dtype=np.float64)
        if len(rows):
            seen[number] = Boxes(*sizes[number], rows[:, :4], rows[:, 4].astype(np.int64))
    told: dict[int, list[str]] = {}
    for entry in sorted(listing["annotations"], key=lambda entry: entry["id"]):
        told.setdefault(entry["image_id"], []).append(" ".join(entry["caption"].split()))
    numbers = np.random.default_rng(2017).permutation(sorted(seen)).tolist()
    shares = {"train": numbers[1500:], "valid": numbers[:500], "test": numbers[500:1500]}
    return {
        part: _part([seen[n] for n in share], [told[n] for n in share], classes)
        for part, share in shares.items()
    }


def _scenes(count: int, generator: np.random.Generator) -> Captioned:
    made = scenes(count, generator)
    boxes = [picture(scene, generator) for scene, _ in made]
    part = _part(boxes, [[words(text) for text in texts] for _, texts in made], len(CLASSES))
    meaning = [scene for scene, _ in made], [text for _, texts in made for text in texts]
    return replace(part, meaning=meaning)


def _part(boxes: Sequence[Boxes], told: Sequence[Sequence[str]], classes: int) -> Captioned:
    features = np.stack([featurize(each, classes) for each in boxes])
    owner = np.repeat(np.arange(len(told)), [len(some) for some in told])
    return Captioned(features, [text for some in told for text in some], owner, boxes)


def above(u: Text, v: Text) -> bool:
    """Whether `v` entails `u`: all that `u` says is said by `v`, too."""
    if len(u) > len(v):
        return False
    return any(all(a <= b for a, b in zip(u, chosen, strict=True)) for chosen in permutations(v, len(u)))


def words(text: Text) -> str:
    """A text in English, as "something small and red and a box"."""
    return " and ".join(_phrase(thing) for thing in text)


def _phrase(thing: frozenset[str]) -> str:
    adjectives = [word for word in (*SIZES, *COLORS) if word in thing]
    noun = next((word for word in SHAPES if word in thing), None)
    return "something " + " and ".join(adjectives) if noun is None else " ".join(["a", *adjectives, noun])


def scenes(count: int, generator: np.random.Generator) -> list[tuple[Text, list[Text]]]:
    """Scenes of two or three things, and five true captions of each: the first tells all, the others less."""
    found = []
    for _ in range(count):
        scene = tuple(
            frozenset(str(generator.choice(kind)) for kind in (SIZES, COLORS, SHAPES))
            for _ in range(generator.integers(2, 4))
        )
        found.append((scene, [scene, *(_less(scene, generator) for _ in range(4))]))
    return found


def _less(scene: Text, generator: np.random.Generator) -> Text:
    """Leave out things and attributes at random, but not all, and tell what is left in any order."""
    kept = generator.permutation(len(scene))[: generator.integers(1, len(scene) + 1)]
    told = (generator.choice(sorted(scene[k]), generator.integers(1, 4), replace=False) for k in kept)
    return tuple(frozenset(attributes.tolist()) for attributes in told)


def picture(scene: Text, generator: np.random.Generator) -> Boxes:
    """A scene as boxes on a unit square, each in a third of its width: small ones 0.15 wide, large 0.3."""
    corners: list[Float64[np.ndarray, " 4"]] = []
    for column, thing in zip(generator.permutation(3), scene, strict=False):
        side = 0.3 if "large" in thing else 0.15
        corner = np.array([column / 3, 0.0]) + generator.uniform(size=2) * [1 / 3 - side, 1 - side]
        corners.append(np.concatenate([corner, corner + side]))
    classes = [k for thing in scene for k, name in enumerate(CLASSES) if set(name.split()) <= thing]
    return Boxes(1.0, 1.0, np.array(corners), np.array(classes))


def featurize(boxes: Boxes, classes: int) -> Float32[np.ndarray, " F"]:
    r"""A vector made of boxes, $F = 5\cdot$`classes`$+4$ numbers of length 1.

    For each class $k$ with $n_k$ boxes, measured in the picture's own width and height:

    $$\log(1+n_k), \quad \log(1 + 100\,\textstyle\sum \text{area}), \quad
    \bar x_k - \tfrac12, \quad \bar y_k - \tfrac12,$$

    all 0 where $n_k=0$; then the class of the largest box (a one among zeros), its center, width and height.

    *Source* ours, in place of a convnet's features of the pixels: each photograph has a licence of its own.
    """
    left, top, right, bottom = (boxes.corners / np.tile([boxes.width, boxes.height], 2)).T
    shape = np.stack([(left + right) / 2 - 0.5, (top + bottom) / 2 - 0.5, right - left, bottom - top])
    area = shape[2] * shape[3]
    ones = np.ones(len(area))
    count, areas, *centers = (np.bincount(boxes.classes, x, classes) for x in (ones, area, *shape[:2]))
    largest = int(area.argmax())
    middles = [center / np.maximum(count, 1) for center in centers]
    which = np.eye(classes)[boxes.classes[largest]]
    parts = [np.log1p(count), np.log1p(100 * areas), *middles, which, shape[:, largest]]
    vector = np.concatenate(parts)
    return (vector / np.linalg.norm(vector)).astype(np.float32)
