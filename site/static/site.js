// Opens all folds of a page; shows what a page of the map needs; lets keys scroll what is wide.
"use strict";
const all = (what, where = document) => [...where.querySelectorAll(what)];

function scrollable() {
  for (const each of all('pre, .cell_output, .table-wrapper, .map, div.math, [style*="overflow-x"]')) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}

addEventListener("DOMContentLoaded", () => {
  for (const button of all("button.unfold")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = button.ariaPressed !== "true";
      for (const fold of all("div.cell details.hide")) fold.open = open;
      button.ariaPressed = String(open);
      [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
      scrollable();
    });
  }
  for (const box of all(".map a")) {
    const lines = all(`[data-from="${box.dataset.page}"], [data-to="${box.dataset.page}"]`);
    const mark = (near) => lines.forEach((line) => line.classList.toggle("near", near));
    for (const event of ["mouseenter", "focus"]) box.addEventListener(event, () => mark(true));
    for (const event of ["mouseleave", "blur"]) box.addEventListener(event, () => mark(false));
  }
  for (const event of ["load", "resize"]) addEventListener(event, scrollable);
  document.addEventListener("toggle", scrollable, true);
});
