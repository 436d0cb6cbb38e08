"use strict";
// Page behaviour beyond htmx: the value next to a slider, a box that stands for others, and forms submitted once. CSRF tokens are in the forms.
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (slider.type !== "range") return;
  const shown = slider.form.querySelector(`output[for="${slider.id}"]`);
  if (shown) shown.textContent = String(Number(Number(slider.value).toFixed(4)));
});
// A box for all of a kind stands for the boxes of the kind; the service takes it without scripts too. A box that is disabled is not sent, and not required.
const stand = (whole) => {
  document.querySelectorAll(`[data-of="${whole.dataset.all}"]`).forEach((box) => {
    if (whole.checked) box.checked = true;
    else if (box.disabled) box.checked = false;
    box.disabled = whole.checked;
  });
};
// What is left to confirm, beside the button that needs it.
const remind = () => {
  const lines = Array.from(document.querySelectorAll("[data-left]"));
  for (const line of lines) line.hidden = document.querySelector(`[name="confirmed"][value="${line.dataset.left}"]`).checked;
  document.querySelectorAll("[data-remaining]").forEach((part) => { part.hidden = lines.every((line) => line.hidden); });
};
document.addEventListener("change", (event) => {
  if (event.target.dataset.all) stand(event.target);
  if (event.target.name === "confirmed") remind();
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.hasAttribute("hx-post") || form.method !== "post") return;
  // Deferred until the browser has read the form: a disabled button would be left out of it.
  setTimeout(() => form.querySelectorAll("button").forEach((button) => { button.disabled = true; }), 0);
});
// The back button restores the page with its buttons disabled; enable them again.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("[data-of]").forEach((box) => { box.required = true; });
  document.querySelectorAll("[data-all]").forEach(stand);
  remind();
  document.querySelectorAll("button[disabled]").forEach((button) => { button.disabled = false; });
});
