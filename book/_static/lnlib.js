// A page is printed in its light theme, with all pictures; a search among files, which may not read each other,
// shows titles without excerpts; rows of the ledger are filtered.
{
  const { dataset } = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = dataset.theme;
    dataset.theme = "light";
    for (const picture of document.querySelectorAll("img.ink-dark")) picture.loading = "eager";
  });
  addEventListener("afterprint", () => { dataset.theme = theme; });
}
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// A choice of verdict above the ledger's first rows; a section without a row hides.
const rows = [...document.querySelectorAll(".ledger tbody tr")];
if (rows.length) {
  const verdict = (row) => row.querySelector("td:last-child .verdict").textContent;
  const told = Object.assign(document.createElement("output"), { ariaLive: "polite" });
  const form = Object.assign(document.createElement("form"), { className: "ledger-filter" });
  const label = document.createElement("label"), choice = document.createElement("select");
  choice.append(new Option("all", ""), ...[...new Set(rows.map(verdict))].map((word) => new Option(word)));
  label.append("verdict ", choice);
  const filter = () => {
    for (const row of rows) row.hidden = choice.value && choice.value !== verdict(row);
    for (const part of new Set(rows.map((row) => row.closest("section"))))
      part.hidden = ![...part.querySelectorAll(".ledger tbody tr")].some((row) => !row.hidden);
    told.value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  form.append(label, told);
  form.addEventListener("input", filter);
  rows[0].closest("section").before(form);
  filter();
}
