"use strict";
// Corrects what the theme's script adds to a page, for keyboards and screen readers.
window.addEventListener("load", () => {
  // A table that is wider than the page scrolls in a box of its own, which the keyboard has to reach.
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
    const reach = () => {
      if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    };
    new ResizeObserver(reach).observe(box);
    reach();
  }
  // The button that copies a block of code stands in a landmark without a name, one for each block.
  const unname = () => {
    for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.setAttribute("role", "none");
  };
  new MutationObserver(unname).observe(document.body, { childList: true, subtree: true });
  unname();
});
