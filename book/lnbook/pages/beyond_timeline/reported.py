"""What others report of norms: measurements with their sources, and a list of language models."""

from collections.abc import Iterable
from typing import NamedTuple


class Report(NamedTuple):
    """A number that somebody measured."""

    key: str  # in references.bib
    date: str
    found: str
    abstract: bool = True  # whether the abstract is all that we read


class Model(NamedTuple):
    """A language model, the year that the list gives, and its norm; "" where the list gives none."""

    name: str
    year: int
    norm: str


REPORTS = (
    Report(
        "zhang2019root",
        "October 2019",
        "RMSNorm, about as good as layer norm, takes 7 % to 64 % less time.",
    ),
    Report(
        "xu2019understanding",
        "November 2019",
        "Layer norm without gain and bias is better on 4 data sets, AdaNorm on 7 of 8.",
    ),
    Report(
        "shen2020powernorm",
        "July 2020",
        "PowerNorm beats layer norm by 0.4 and 0.6 BLEU on IWSLT14 and WMT14.",
    ),
    Report(
        "narang2021do",
        "February 2021",
        "Final pre-training loss: RMSNorm 1.821, layer norm 1.838, ReZero with layer norm 1.858, ReZero "
        "1.939, Fixup 2.067.",
        abstract=False,
    ),
    Report(
        "tan2025crystallization",
        "December 2025",
        "Of 53 language models since 2017: RMSNorm before the block is part of the usual design from 2023.",
    ),
    Report(
        "verma2026when",
        "April 2026",
        "Dynamic tanh in a GPT-2 of 64 million parameters: loss 27.3 % lower than with layer norm after 1 "
        "million tokens, 18.8 % higher after 118 million.",
    ),
    Report(
        "zhao2026most",
        "May 2026",
        "Of 20 changes to the Transformer since 2021, 2 help beyond chance at 1.2 billion parameters; one of "
        "them fails to train stably at 3 billion.",
    ),
)

# Dense models in the table of Hashimoto (2026), slide 29, as it has them
MODELS = tuple(
    Model(name, year, norm)
    for year, norm, names in (
        (2017, "layer", ("Transformer",)),
        (2018, "layer", ("GPT",)),
        (2019, "layer", ("GPT-2",)),
        (2019, "RMS", ("T5",)),
        (2020, "layer", ("GPT-3",)),
        (2020, "RMS", ("T5 v1.1", "mT5")),
        (2021, "layer", ("GPT-J",)),
        (2021, "RMS", ("Gopher",)),
        (2021, "", ("LaMDA", "Anthropic LM")),
        (2022, "layer", ("GPT-NeoX", "BLOOM", "OPT")),
        (2022, "RMS", ("PaLM", "Chinchilla")),
        (2023, "RMS", ("Mistral", "LLaMA 2", "LLaMA", "Baichuan 2")),
        (2023, "", ("GPT-4",)),
        (2024, "layer", ("Nemotron-4", "Falcon 2", "Command R+")),
        (2024, "RMS", ("OLMo 2", "Gemma 2", "Qwen 2", "Phi-3", "Llama 3")),
        (2024, "RMS", ("Reka Flash", "OLMo", "Qwen", "DeepSeek", "Yi")),
        (2024, "", ("Mixtral",)),
        (2025, "layer", ("Command A",)),
        (2025, "RMS", ("Gemma 3", "SmolLM2")),
    )
    for name in names
)
ERAS = ((2017, 2022), (2023, 2025))


def by_era(models: Iterable[Model] = MODELS) -> list[dict[str, int | str]]:
    """How many models of each era have which norm."""
    rows: list[dict[str, int | str]] = []
    for first, last in ERAS:
        norms = [model.norm for model in models if first <= model.year <= last]
        counts = {norm or "not given": norms.count(norm) for norm in ("layer", "RMS", "")}
        rows.append({"years": f"{first} to {last}", **counts})
    return rows


def reports() -> str:
    """The reports as a table in MyST: source and date, what was found."""
    lines = ["| Source | Found |", "| --- | --- |"]
    lines += [f"| {{cite:t}}`{r.key}`{'†' * r.abstract}, {r.date} | {r.found} |" for r in REPORTS]
    return "\n".join(lines)
