"""Records are whole, from the data that they name and from committed code, or say that they are not."""

import json
import re
from typing import Any

import pytest

from lnbook.cli.records import UsageError, record
from lnbook.training.checkpoint import Outcome

MNIST = {"name": "mnist", "requested": "mnist"}


def outcome(seed: int, **facts: Any) -> Outcome:
    job = {"seed": seed, "rate": 0.1}  # in another order than JSON's
    told = {"commit": "0123456789ab", "seconds": 1.0, "data": [MNIST], "job": job, **facts}
    return Outcome(job, [{"seed": seed, "update": k} for k in range(2)], told)


WHOLE = [outcome(0), outcome(1)]
UNFIT = {
    "partial": ([outcome(0)], "1 of 2 runs have finished"),
    "stand-in": (
        [outcome(0), outcome(1, data=[{"name": "digits", "requested": "mnist"}])],
        "digits stood in for it",
    ),
    "dirty": ([outcome(0), outcome(1, commit="0123456789ab+")], "(0123456789ab+)"),
}


@pytest.mark.parametrize("what", UNFIT)
def test_what_is_unfit_is_refused_with_its_reason_and_leaves_the_record_as_it_is(tmp_path, what):
    path = record("toy", WHOLE, 2, "study", tmp_path)
    before = [path.read_bytes(), path.with_suffix(".json").read_bytes()]
    assert path.read_text() == "seed,update\n0,0\n0,1\n1,0\n1,1\n"
    assert b"accepted" not in before[1]
    outcomes, reason = UNFIT[what]
    with pytest.raises(UsageError, match=f"Nothing is recorded: .*{re.escape(reason)}.*add --anyway"):
        record("toy", outcomes, 2, "study", tmp_path)
    assert [path.read_bytes(), path.with_suffix(".json").read_bytes()] == before
    record("toy", outcomes, 2, "study", tmp_path, anyway=True)
    assert json.loads(path.with_suffix(".json").read_text())["accepted"] == [what]


def test_runs_keep_their_own_seconds_and_those_made_again_the_rules_of_their_record(tmp_path):
    for rules in ({"a": "older"}, {"a": "newer"}):
        path = record("toy", [outcome(k, rules=rules) for k in range(2)], 2, "study", tmp_path)
    told = json.loads(path.with_suffix(".json").read_text())
    assert [run["seconds"] for run in told["runs"]] == [1.0, 1.0]
    assert told["rules"] == {"a": "older"}
