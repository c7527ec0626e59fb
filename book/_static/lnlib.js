// A page is printed in its light theme, with all pictures; a search among files, which may not read each other,
// shows titles without excerpts; lines of the ledger are filtered.
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

// The ledger's lines are filtered by words, verdict, page and whose they are; the address keeps what was chosen.
const strips = [...document.querySelectorAll(".ledger .strip")];
if (strips.length) {
  const verdict = (strip) => strip.querySelector("summary .verdict").textContent;
  const meanings = new Map();
  for (const term of document.querySelectorAll("dl dt"))
    for (const word of term.textContent.trim().split(", ")) meanings.set(word, term.nextElementSibling.textContent.trim());
  for (const badge of document.querySelectorAll(".verdict")) badge.title = meanings.get(badge.textContent) ?? "";
  const make = (kind, more) => Object.assign(document.createElement(kind), more);
  const told = make("output", { ariaLive: "polite" });
  const form = make("form", { className: "ledger-filter" });
  const fields = {
    q: make("input", { type: "search", placeholder: "words" }),
    verdict: make("select", {}), page: make("select", {}), of: make("select", {}),
  };
  const pages = new Map([...document.querySelectorAll(".strip a")].map((a) => [a.getAttribute("href").split(".")[0], a.textContent]));
  fields.verdict.append(new Option("any", ""), ...[...new Set(strips.map(verdict))].map((word) => new Option(word)));
  fields.page.append(new Option("any", ""), ...[...pages].map(([name, words]) => new Option(words, name)));
  fields.of.append(new Option("anybody", ""), new Option("the paper", "paper"));
  for (const [name, field] of Object.entries(fields)) {
    const label = document.createElement("label");
    label.append({ q: "search ", verdict: "verdict ", page: "measured on ", of: "statement of " }[name], field);
    form.append(label);
  }
  const filter = () => {
    const { q, verdict: word, page, of } = Object.fromEntries(Object.entries(fields).map(([k, f]) => [k, f.value]));
    for (const strip of strips)
      strip.hidden = (word && word !== verdict(strip)) || (page && !strip.dataset.pages.split(" ").includes(page))
        || (of && !strip.closest(".paper")) || !strip.textContent.toLowerCase().includes(q.toLowerCase());
    for (const part of new Set(strips.map((strip) => strip.closest("section"))))
      part.hidden = [...part.querySelectorAll(".strip")].every((strip) => strip.hidden);
    const left = strips.filter((strip) => !strip.hidden).length;
    told.value = `${left || "none"} of ${strips.length} lines`;
  };
  const read = () => {
    const asked = new URLSearchParams(location.search);
    for (const [name, field] of Object.entries(fields)) field.value = asked.get(name) ?? "";
    filter();
  };
  const reset = make("button", { type: "reset", textContent: "Show all" });
  form.append(reset, told);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(chosen));
  const chosen = () => {
    const kept = Object.entries(fields).filter(([, field]) => field.value).map(([name, field]) => [name, field.value]);
    const query = new URLSearchParams(kept).toString();
    history.replaceState(null, "", location.pathname + (query && `?${query}`));
    filter();
  };
  form.addEventListener("input", chosen);
  const open = () => {
    const line = location.hash && document.getElementById(location.hash.slice(1));
    const strip = line?.closest?.(".strip");
    if (strip) { strip.hidden = strip.closest("section").hidden = false; strip.open = true; line.scrollIntoView(); }
  };
  strips[0].closest("section").before(form);
  read();
  open();
  addEventListener("hashchange", open);
}
