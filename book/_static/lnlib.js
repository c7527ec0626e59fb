// Escape puts away the definition that shows; a page is printed in its light theme; a search among files, which
// may not read each other, shows titles without excerpts.
addEventListener("keydown", (press) => {
  if (press.key !== "Escape") return;
  for (const term of document.querySelectorAll(".term:hover, .term:focus-within")) {
    term.classList.add("dismissed");
    for (const leave of ["pointerleave", "focusout"])
      term.addEventListener(leave, () => term.classList.remove("dismissed"), { once: true });
  }
});
{
  const { dataset } = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => { theme = dataset.theme; dataset.theme = "light"; });
  addEventListener("afterprint", () => { dataset.theme = theme; });
}
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
