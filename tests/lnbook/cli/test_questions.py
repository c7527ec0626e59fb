"""The order of the questions names experiments and runs that there are, the paper's own sizes first."""

import pytest

from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.cli.open_runs import SCALES
from lnbook.cli.questions import QUESTIONS, Question, place
from lnbook.training.runs import jobs_of


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.section} {q.scale} {q.asks[:20]}")
def test_each_question_is_about_runs_that_no_earlier_one_has(question: Question) -> None:
    assert question.section in EXPERIMENTS
    found = jobs_of(find(question.section), question.scale)
    mine = QUESTIONS.index(question)
    assert mine in {place(question.section, question.scale, job) for job in found}


def test_the_sizes_of_the_paper_come_before_studies() -> None:
    scales = [SCALES.index(question.scale) for question in QUESTIONS]
    assert scales == sorted(scales)


def test_the_biggest_are_two_hundred_passes_of_draw_then_sixty_of_figure_6() -> None:
    assert place("6.4", "paper", {}) < place("6.6", "paper", {"batch_size": 128})
    assert place("6.6", "smoke", {}) == len(QUESTIONS)
