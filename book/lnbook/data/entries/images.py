"""Pictures: MNIST and its kin, CIFAR-10, and the digits that ship with scikit-learn."""

from lnbook.data.dataset import DataSet, PublishedFile

__all__ = ["DATA_SETS"]


_IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
_IDX_BYTES = (47_040_016, 60_008, 7_840_016, 10_008)  # uncompressed


def _idx_files(*hashes_and_sizes: tuple[str, int]) -> tuple[PublishedFile, ...]:
    pairs = zip(_IDX, hashes_and_sizes, strict=True)
    return tuple(PublishedFile(f"{name}-ubyte.gz", sha256, size) for name, (sha256, size) in pairs)


def _uncompressed(*hashes: str) -> tuple[PublishedFile, ...]:
    found = zip(_IDX, hashes, _IDX_BYTES, strict=True)
    return tuple(PublishedFile(f"{name}-ubyte", sha256, size) for name, sha256, size in found)


_MNIST = DataSet(
    name="mnist",
    title="MNIST: 70,000 handwritten digits, 28x28",
    files=_idx_files(
        ("440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9_912_422),
        ("3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28_881),
        ("8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1_648_877),
        ("f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4_542),
    ),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    licence="CC BY-SA 3.0",
    citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition (1998)",
    stand_in="digits",
    alternative=_uncompressed(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)

_FASHION_MNIST = DataSet(
    name="fashion_mnist",
    title="Fashion-MNIST: 70,000 pictures of clothes, 28x28",
    files=_idx_files(
        ("3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", 26_421_880),
        ("a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", 29_515),
        ("346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", 4_422_102),
        ("67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", 5_148),
    ),
    mirrors=(
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    licence="MIT",
    citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, arXiv:1708.07747 (2017)",
    stand_in="digits",
    alternative=_uncompressed(
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)

_DIGITS = DataSet(
    name="digits",
    title="Digits: 1,797 handwritten digits, 8x8 (ships with scikit-learn)",
    files=(),
    mirrors=(),
    licence="CC BY 4.0",
    citation="Alpaydin, Kaynak: Optical Recognition of Handwritten Digits, UCI repository (1998)",
)

_BINARIZED_MNIST = DataSet(
    name="binarized_mnist",
    title="Binarized MNIST: 70,000 handwritten digits, 28x28, each pixel drawn once as 0 or 1",
    files=(
        PublishedFile(
            "binarized_mnist_train.amat",
            "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d",
            78_400_000,
        ),
        PublishedFile(
            "binarized_mnist_valid.amat",
            "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2",
            15_680_000,
        ),
        PublishedFile(
            "binarized_mnist_test.amat",
            "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c",
            15_680_000,
        ),
    ),
    mirrors=("http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/",),
    licence="CC BY-SA 3.0 (MNIST's; none stated)",
    citation="Larochelle, Murray: The neural autoregressive distribution estimator, AISTATS (2011)",
    stand_in="binarized_digits",
)

_BINARIZED_DIGITS = DataSet(
    name="binarized_digits",
    title="Binarized digits: the 1,797 digits of scikit-learn, 8x8, each pixel 0 or 1",
    files=(),
    mirrors=(),
    licence="CC BY 4.0",
    citation=_DIGITS.citation,
)

_CIFAR10 = DataSet(
    name="cifar10",
    title="CIFAR-10: 60,000 color pictures of ten kinds of things, 32x32 (binary version)",
    files=(
        PublishedFile(
            "cifar-10-binary.tar.gz",
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            170_052_171,
        ),
    ),
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    licence="none stated",
    citation="Krizhevsky: Learning multiple layers of features from tiny images, technical report (2009)",
)

DATA_SETS = (_MNIST, _FASHION_MNIST, _BINARIZED_MNIST, _CIFAR10, _DIGITS, _BINARIZED_DIGITS)
