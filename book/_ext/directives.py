"""What pages say of the book itself: when each ran, and where a section comes from; interactive figures."""

from html import escape

import nbformat
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from lnbook import explore
from lnbook.ledger.tables import html_table
from top import data_used, measured_facts, title

KINDS = {
    "paper": "from the paper",
    "derived": "derived here",
    "measured": "measured here",
    "later": "later literature",
}


class ExecutionsDirective(SphinxDirective):
    """`{executions}`: when, at which scale, how long and on which data each page ran; the machine."""

    def run(self) -> list[nodes.Node]:
        rows, machine = [], ""
        for page, run in sorted(self.env.app.lnlib_runs.items()):
            link = f'<a href="{page}.html">{escape(title(page))}</a>'
            cells = [self.config.lnlib_scale, f"failed: {run.failure}", "", ""]
            if not run.failure:
                facts = nbformat.read(run.notebook, as_version=4).metadata.lnlib.run
                when = facts.executed.replace("T", " ").replace("+00:00", " UTC")
                data = data_used(measured_facts(page, run, facts.scale))
                cells = [facts.scale, f"{facts.seconds:.0f} s", when, data]
                hardware = escape(f"{facts.cpu}, {facts.cores} cores, device {facts.device}")
                named = ("lnlib", "python", "torch", "numpy", "commit")
                versions = escape(", ".join(f"{name} {facts[name]}" for name in named))
                machine = f"<p>Machine: {hardware}.</p><p>Versions: {versions}.</p>"
            rows.append([link, *map(escape, cells)])
        columns = "Page", "Scale", "Time", "Executed", "Data"
        return [nodes.raw("", html_table("Executions", columns, rows) + machine, format="html")]


class InteractiveDirective(SphinxDirective):
    """`{interactive} <name>`: a figure with its default data; without scripts, and in print, its table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        for file in explore.FOLDER.iterdir():
            if file.suffix in {".css", ".js", ".py"}:
                self.env.note_dependency(str(file))
        return [nodes.raw("", explore.builder(name)()._repr_html_(), format="html")]


class FromRole(SphinxRole):
    """``{from}`paper: Section 3``` or ``{from}`measured```: a kind, and after a colon what exactly."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        kind, _, what = (part.strip() for part in self.text.partition(":"))
        note = nodes.inline(classes=["origin", f"origin-{kind}"])
        note += nodes.inline("", KINDS[kind], classes=["origin-kind"])
        note += nodes.Text(f" {what} " if what else " ")
        return [note], []
