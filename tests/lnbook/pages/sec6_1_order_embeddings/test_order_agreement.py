"""That what is learned agrees with the true order."""

from lnbook.data.captions import load_captions
from lnbook.pages.sec6_1_order_embeddings.agreement import agreement
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT, Embedding
from lnbook.training import Machine, train


def test_the_learned_order_agrees_with_the_true_one_and_that_of_random_weights_does_not() -> None:
    job = {**EXPERIMENT.jobs("smoke", 0)[1], "updates": 600, "every": 600}  # a few seconds
    task, part = EXPERIMENT.task(job, "smoke", Machine()), load_captions("scenes").parts["test"]
    assert isinstance(task, Embedding)
    before = agreement(task, part)
    rows = train(task).rows
    after = agreement(task, part)
    # runs of several seeds and lengths: 0.44 to 0.56 before, 0.70 to 0.82 after
    for kind in ("pictures", "captions"):
        assert before[kind] < 0.6 < 0.65 < after[kind], kind
    assert 0 < after["direction"] < 1
    assert rows[0]["valid_image_r10"] < 20 < 45 < rows[-1]["valid_image_r10"]  # chance: 10 of 100
