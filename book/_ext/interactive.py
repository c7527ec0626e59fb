"""`{interactive} <name>`: a figure of `lnbook.explore` on a page that is not a notebook."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from lnbook import explore


class InteractiveDirective(SphinxDirective):
    """The figure with its builder's default data; where scripts do not run, and in print, its table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        for file in explore.FOLDER.iterdir():
            if file.suffix in {".css", ".js", ".py"}:
                self.env.note_dependency(str(file))
        return [nodes.raw("", explore.builder(name)()._repr_html_(), format="html")]
