"""What skip-thoughts read: triples of books, and the sentences that judge."""

import torch

from lnbook.data.text import EOS
from lnbook.pages.sec6_3_skip_thoughts import judges
from lnbook.pages.sec6_3_skip_thoughts.experiment import EXPERIMENT, corpus_of

JOB = EXPERIMENT.jobs("smoke", 0)[0]


def test_triples_are_sentences_in_a_row_of_one_book() -> None:
    text = corpus_of(JOB, "smoke")
    *sides, lengths = text.train
    before, here, after = (
        [tuple(row[:n]) for row, n in zip(ids.tolist(), lengths[:, k], strict=True)]
        for k, ids in enumerate(sides)
    )
    linked = [k for k in range(len(here) - 1) if after[k] == here[k + 1]]
    assert len(linked) > len(here) / 2
    assert all(before[k + 1] == here[k] for k in linked)
    for ids, n in zip(sides, lengths.T, strict=True):
        assert (ids.gather(1, n[:, None] - 1) == EOS).all()
        assert int(n.min()) >= 2
        assert int(n.max()) == ids.shape[1] <= 30
    judged = [tuple(row[:n]) for row, n in zip(text.valid[1].tolist(), text.valid[3][:, 1], strict=True)]
    assert sum(row in set(here) for row in judged) < 0.2 * len(judged)  # other books; the help repeats itself
    assert text.wide.words[: len(text.vocabulary)] == text.vocabulary.words
    assert text.vectors.shape == (len(text.wide), 24)
    assert not text.vectors[:3].any()


def test_judging_sentences_are_balanced_and_drawn_by_seed() -> None:
    wide = corpus_of(JOB, "smoke").wide
    few, same, other = (judges.tasks(wide, judges.TEMPLATES, 40, s) for s in (0, 0, 1))
    assert few.keys() == set(judges.TASKS)
    for name in judges.TASKS[:-1]:
        assert few[name][2].float().mean() == 0.5
        assert torch.equal(few[name][0], same[name][0])
    assert not all(few[name][0].equal(other[name][0]) for name in judges.TASKS)
    assert few["sick"][5].bincount().tolist() == [40, 40, 40]
