"""The role `{from}`: where a section comes from, as a small note at the margin of its first paragraph."""

from docutils import nodes
from sphinx.util.docutils import SphinxRole

KINDS = {
    "paper": "from the paper",
    "derived": "derived here",
    "measured": "measured here",
    "later": "later literature",
}


class FromRole(SphinxRole):
    """``{from}`paper: Section 3``` or ``{from}`measured```: a kind, and after a colon what exactly."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The note, or a warning (which fails the build) for a kind that does not exist."""
        kind, _, what = (part.strip() for part in self.text.partition(":"))
        if kind not in KINDS:
            message = f"{{from}}`{self.text}` names none of the kinds {', '.join(KINDS)}"
            return [], [self.inliner.reporter.warning(message, line=self.lineno)]
        note = nodes.inline(classes=["origin", f"origin-{kind}"])
        note += nodes.inline("", KINDS[kind], classes=["origin-kind"])
        if what:
            note += nodes.Text(f" {what}")
        note += nodes.Text(" ")
        return [note], []
