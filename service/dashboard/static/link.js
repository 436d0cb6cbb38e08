// Moves the token of a sign-in link from the address into the form, and out of the address and the history.
(() => {
  const field = document.querySelector("#token");
  if (!field) return;
  const take = () => {
    const token = location.hash.slice(1);
    if (!token) return;
    history.replaceState(null, "", location.pathname);
    field.value = token;
    field.closest(".field").hidden = true;
    // The problem was that of the link before.
    document.querySelector(".problem")?.remove();
  };
  take();
  // A new link opened in this tab changes only what stands behind the #, so the page is not loaded again.
  addEventListener("hashchange", take);
})();
