"""Where the variants of an LSTM normalize."""

from lnbook.pages.appendix_cells import drawings
from lnlib.rnn.variants import PLAIN, VARIANTS


def test_every_variant_of_an_lstm_has_its_places() -> None:
    found = {name: drawings.places(variant) for name, variant in VARIANTS["LSTM"].items()}
    assert drawings.places(PLAIN) == set()
    assert found["paper"] == found["released"] == {1, 2, 3}
    assert found["joint"] == found["per_gate"] == {3, 4}
    assert found["draw"] == {3}
    assert found["normalized_state"] == {1, 2, 3, 5}
    assert found["rnmt"] == {4, 5}
    assert set.union(*found.values()) <= set(drawings.PLACES)
