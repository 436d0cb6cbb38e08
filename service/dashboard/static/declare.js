"use strict";
// The page that declares a dataset takes a domain, which is public. Private rows must not be sent, so what is no domain stays in the browser.
(() => {
  const form = document.getElementById("declaring");
  const box = document.getElementById("domain");
  const refused = document.getElementById("domain-refused");
  const input = document.getElementById("file");
  const most = Number(form.dataset.most);
  const DRAFT = "Draft a domain on your machine:";
  const isText = (value) => typeof value === "string";

  // The orients "split" and "table" of pandas write rows under the keys `columns` and `schema`.
  const isDomain = ({ schema, columns }) => (isText(schema) && schema.startsWith("understudy."))
    || (Array.isArray(columns) && columns.every((one) => isText(one?.name) && isText(one?.kind)));
  const read = (text) => {
    try {
      const found = JSON.parse(text);
      return found && isDomain(found) ? found : null;
    } catch { return null; }
  };

  const accept = () => {
    refused.replaceChildren();
    refused.classList.remove("problem");
    box.removeAttribute("aria-invalid");
  };
  const refuse = (said) => {
    const command = document.createElement("code");
    command.textContent = "understudy domain draft FILE";
    refused.replaceChildren(`${said} ${DRAFT} `, command, ". Nothing was sent.");
    refused.classList.add("problem");
  };

  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    const text = file.size > most ? "" : await file.text();
    const domain = read(text);
    if (input.files[0] !== file) return;
    input.value = "";
    if (!domain) {
      refuse(file.size > most ? "This file is larger than a domain that this page takes." : "This file holds rows or is no domain.");
      return;
    }
    accept();
    box.value = text;
    const size = document.getElementById("declared_size");
    size.value ||= domain.declared_size ?? "";
  });

  form.addEventListener("submit", (event) => {
    if (read(box.value)) { accept(); return; }
    event.preventDefault();
    refuse("This text holds rows or is no domain.");
    box.setAttribute("aria-invalid", "true");
    box.focus();
  });
})();
