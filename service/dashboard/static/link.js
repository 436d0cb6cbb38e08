// Moves the token of a sign-in link from the address into the form, and out of the address and the history.
(() => {
  const field = document.querySelector("#token");
  const token = location.hash.slice(1);
  if (!field || !token) return;
  history.replaceState(null, "", location.pathname);
  field.value = token;
  field.closest(".field").hidden = true;
})();
