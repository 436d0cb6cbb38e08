"use strict";
// What pages do beyond htmx: the number beside a slider, forms sent once, tokens on requests of htmx are in its forms.
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider.type !== "range") return;
  const shown = slider.form.querySelector(`output[for="${slider.id}"]`);
  if (shown) shown.textContent = String(Number(Number(slider.value).toFixed(4)));
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.hasAttribute("hx-post") || form.method !== "post") return;
  // After the browser has read the form: a disabled button would not be sent along.
  setTimeout(() => form.querySelectorAll("button").forEach((button) => { button.disabled = true; }), 0);
});
// Coming back by the back button must not find the buttons disabled.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("button[disabled]").forEach((button) => { button.disabled = false; });
});
