"""A list of language models and their norms, as others report them."""

from collections.abc import Iterable
from typing import NamedTuple


class Model(NamedTuple):
    """A language model, the year that the list gives, and its norm; "" where the list gives none."""

    name: str
    year: int
    norm: str


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
