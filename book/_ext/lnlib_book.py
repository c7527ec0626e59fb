"""The book's Sphinx extension: executed pages, their badge lines, figures for both themes, the ledger.

Notebooks are run by `execute.py`, never by Sphinx; pages are made from the executed copies. Everything a
page links to (executed notebook, measured rows, drawn data) is copied beside it.
"""

import hashlib
import os
import shutil
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from myst_nb.ext.glue import GLUE_PREFIX
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

import ledger
import reference
from directives import ExecutionsDirective, FromRole, InteractiveDirective
from execute import BOOK, SCALES, Executed, executed_all, made_ready
from figures import add_dark_twins, link_drawn_data, load_late, size_and_link
from links import explain_terms, find_all_entries, link_names, number_equations
from lnbook.data import DataError
from lnbook.figures.palette import css_variables
from lnbook.ledger import tables
from lnbook.ledger.recorded import load_measured
from lnbook.ledger.rules import load_rules
from shown import with_cards
from top import badge_line, run_line

logger = logging.getLogger(__name__)


def execute_notebooks(app: Sphinx) -> None:
    """Run what changed since the last build; `publish_files` says at its end which pages failed."""
    scale = app.config.lnlib_scale
    if scale not in SCALES:
        raise ExtensionError(f"LNLIB_SCALE is {scale!r}; it must be one of {SCALES}")
    pages = [Path(app.srcdir, f"{docname}.ipynb") for docname in app.config.external_site_map]
    paths = [page for page in pages if page.is_file()]
    say = partial(logger.info, "[lnlib] %s")
    try:
        made_ready(paths, scale, say)
    except DataError as error:
        raise ExtensionError(f"The book cannot be built: {error}") from error
    app.lnlib_runs = executed_all(paths, scale, say)


def outdated_pages(app: Sphinx, env: Any, added: set, changed: set, removed: set) -> list[str]:
    """Pages whose notebook ran anew or whose copy changed, and the one that lists all runs."""
    now = {f"book/{name}": str(run.notebook) for name, run in app.lnlib_runs.items()}
    before = getattr(env, "lnlib_executed", {})
    env.lnlib_executed = now
    stale = {doc for doc in now if before.get(doc) != now[doc] or app.lnlib_runs[Path(doc).name].fresh}
    return sorted((stale | {"book/status"} if stale else stale) & env.found_docs)


def read_executed(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a committed notebook, which has no outputs, by its executed copy with the lines of its top."""
    run = app.lnlib_runs.get(Path(docname).name)
    if run is None:
        return
    notebook = nbformat.read(run.notebook, as_version=4)
    if run.failure:
        mark_failed(notebook, run.failure)
    else:
        page = Path(docname).name
        place_pictures(notebook)
        show_rules(notebook, page, run, app.config.lnlib_scale)
        top, foot = (line(page, notebook, run) for line in (badge_line, run_line))
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(top, id="badge-line"))
        notebook.cells.append(nbformat.v4.new_markdown_cell(foot, id="run-line"))
    source[0] = nbformat.writes(notebook)


def place_pictures(notebook: nbformat.NotebookNode) -> None:
    """Leave figures to the text, which pastes them; show the one tagged "hero" below the page's lead."""
    for cell in [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]:
        cell.metadata.tags = ["remove-input"]
    for output in (o for c in notebook.cells for o in c.get("outputs", [])):
        if glued := output.get("metadata", {}).get("scrapbook"):
            bare = len(glued["mime_prefix"])
            output.data = {GLUE_PREFIX + kind[bare:]: data for kind, data in output.data.items()}
            glued["mime_prefix"] = GLUE_PREFIX
    for cell in [c for c in notebook.cells if "hero" in c.metadata.get("tags", [])]:
        if cell.cell_type == "markdown":
            notebook.cells.remove(cell)
        else:  # an interactive figure; its code stays in its place
            played = [o for o in cell.outputs if "text/html" in o.get("data", {})]
            cell.outputs = [o for o in cell.outputs if o not in played]
            # MyST-NB leaves out a cell without a source
            notes = {"tags": ["remove-input"]}
            cell = nbformat.v4.new_code_cell("...", outputs=played, metadata=notes, id="hero")
        notebook.cells.insert(2, cell)


def show_rules(notebook: nbformat.NotebookNode, page: str, run: Executed, scale: str) -> None:
    """Show what a page measures as cards, and at its end, for the table of its rules, how they came out."""
    rules = [rule for rule in load_rules(BOOK / "claims.toml") if rule.page == page]
    cells = [c for c in notebook.cells if c.cell_type == "code" and c.source.endswith("page.show()")]
    if not rules or not cells:
        return
    here = load_measured(rules, folder=run.results, scale=scale)
    with_cards(notebook, {rule.id: rule for rule in rules}, here, ledger.record().found)
    for output in cells[-1].outputs:
        if "text/html" in output.get("data", {}):
            output.data = {"text/html": ledger.page_tally(page, rules, here)}


def mark_failed(notebook: nbformat.NotebookNode, failure: str) -> None:
    """Say in the title, which the contents repeat, and under it that a page's run failed, and where."""
    heading, _, rest = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{heading} (failed)\n{rest}".strip()
    words = (
        "```{admonition} This page failed in this build\n:class: error\n"
        "What follows ends at the cell that failed. Numbers and figures after it are missing.\n```"
    )
    said = nbformat.v4.new_output("stream", text=failure)  # no markup, whatever it holds
    shown = nbformat.v4.new_code_cell(
        "...", outputs=[said], metadata={"tags": ["remove-input"]}, id="failure"
    )
    notebook.cells[1:1] = [nbformat.v4.new_markdown_cell(words, id="failed-run"), shown]


def finish_doctree(app: Sphinx, doctree: nodes.document) -> None:
    """Give figures their dark twins and links to their data, names of lnlib links to the reference."""
    load_late(doctree)
    add_dark_twins(app, doctree)
    link_names(doctree, app.env.docname)
    run = app.lnlib_runs.get(Path(app.env.docname).name)
    if run is not None and not run.failure:
        link_drawn_data(doctree, {f.stem for f in (run.results / "figures").glob("*.csv")})


def mend_html(app: Sphinx, page: str, template: str, context: dict, doctree: Any) -> None:
    """Say how large figures are, link them to that size; take out list roles and lists that HTML lacks, and
    what sphinx-thebe adds to every page, twice: the address of a script that nothing uses."""
    scripts = context.get("script_files", [])
    thebe = [s for s in scripts if "thebe" in f"{getattr(s, 'filename', s)} {getattr(s, 'attributes', {})}"]
    context["script_files"] = [s for s in scripts if s not in thebe]
    body = context.get("body", "")
    body = body.replace('role="list" class="citation-list"', 'class="citation-list"')
    if doctree is not None:  # a page of the book, not the search
        body = size_and_link(body, doctree)
    context["body"] = reference.flat_signatures(body)


def publish_files(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax, the executed notebooks and the measured numbers beside the pages that link to them."""
    for page, run in app.lnlib_runs.items():
        if run.failure:
            app.statuscode = 1  # whoever builds without -W must not take the book for whole
            logger.error("[lnlib] the page %s failed, the others can be read: %s", page, run.failure)
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    mathjax = metadata.distribution("sphinx-mathjax-offline").locate_file(
        "sphinx-mathjax-offline/static/mathjax/tex-svg.js"
    )
    (out / "_static" / "mathjax").mkdir(parents=True, exist_ok=True)
    shutil.copy2(str(mathjax), out / "_static" / "mathjax")
    (out / "_static" / "palette.css").write_text(f":root{{{css_variables()}}}\n", encoding="utf-8")
    for folder in ("notebooks", "data"):
        shutil.rmtree(out / "book" / folder, ignore_errors=True)
        (out / "book" / folder).mkdir(parents=True)
    for run in app.lnlib_runs.values():
        shutil.copy2(run.notebook, out / "book" / "notebooks")
        if run.failure:
            continue
        for file in run.results.rglob("*.*"):
            shutil.copy2(file, out / "book" / "data")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the steps to Sphinx's events, in the order in which a build meets them."""
    app.add_config_value("lnlib_scale", os.environ.get("LNLIB_SCALE", "book"), "env", str)
    app.connect("builder-inited", execute_notebooks)
    app.connect("env-get-outdated", outdated_pages)
    app.connect("source-read", read_executed)
    app.connect("doctree-read", finish_doctree, priority=400)  # before Sphinx collects the images
    app.connect("doctree-read", number_equations)
    app.connect("autodoc-process-docstring", reference.prepare_docstring, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", reference.skip_member)
    app.connect("missing-reference", reference.resolve)
    app.connect("html-page-context", mend_html, priority=900)  # after sphinx-thebe
    app.connect("doctree-resolved", explain_terms)
    app.connect("html-collect-pages", find_all_entries)
    app.connect("build-finished", publish_files)
    app.add_directive("sentences", ledger.SentencesDirective)
    app.add_directive("rules", ledger.RulesDirective)
    app.add_directive("verdicts", ledger.VerdictsDirective)
    app.add_directive("settings", ledger.SettingsDirective)
    app.add_directive("interactive", InteractiveDirective)
    app.add_role("measured", ledger.RecordRole(ledger.measured_words))
    app.add_role("verdict", ledger.RecordRole(ledger.verdict_words))
    app.add_directive("executions", ExecutionsDirective)
    app.add_role("from", FromRole())
    app.add_css_file("palette.css")
    app.add_css_file("lnlib.css")
    app.add_js_file("lnlib.js", loading_method="defer")
    # Another version of this folder or of the ledger's table makes Sphinx read and write every page again.
    code = [*sorted(Path(__file__).parent.glob("*.py")), Path(tables.__file__)]
    version = hashlib.sha256(b"".join(file.read_bytes() for file in code)).hexdigest()[:8]
    return {"env_version": int(version, 16), "parallel_read_safe": True, "parallel_write_safe": True}
