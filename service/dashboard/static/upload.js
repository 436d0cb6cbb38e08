"use strict";
// Dropping files: into a text field, or to the API with the session's token.
(() => {
  const KINDS = { csv: "text/csv", gz: "application/gzip", parquet: "application/vnd.apache.parquet", zip: "application/zip", npz: "application/x-npz" };
  const said = (form, text) => { form.querySelector("[data-told]").textContent = text; };
  const refuse = (title, detail, remedy, code) => {
    const box = document.createElement("div");
    box.className = "problem";
    for (const [tag, text] of [["strong", title], ["p", detail], ["p", remedy], ["code", code]]) {
      const line = document.createElement(tag);
      line.textContent = text;
      box.append(line);
    }
    const notice = document.getElementById("notice");
    notice.replaceChildren(box);
    notice.scrollIntoView({ block: "start" });
  };
  document.querySelectorAll(".drop").forEach((zone) => {
    const input = zone.querySelector("input[type=file]");
    const into = zone.dataset.into && document.getElementById(zone.dataset.into);
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change"));
    });
    if (into) input.addEventListener("change", async () => { if (input.files[0]) into.value = await input.files[0].text(); });
  });
  document.querySelectorAll("form[data-upload]").forEach((form) => form.addEventListener("submit", (event) => {
    event.preventDefault();
    const file = form.querySelector("input[type=file]").files[0];
    const kind = file && KINDS[file.name.split(".").pop().toLowerCase()];
    if (!kind) { refuse("This file has no known ending.", "CSV, CSV.GZ, Parquet, ZIP and NPZ are read.", "Pick another file.", "unsupported-upload"); return; }
    const button = form.querySelector("button");
    const bar = form.querySelector("progress");
    const sending = new XMLHttpRequest();
    sending.open("POST", form.dataset.upload);
    sending.setRequestHeader("Content-Type", kind);
    sending.setRequestHeader("X-CSRF-Token", form.dataset.token);
    sending.upload.onprogress = (step) => {
      if (!step.lengthComputable) return;
      bar.value = 100 * step.loaded / step.total;
      const percent = Math.floor(bar.value / 5) * 5;
      said(form, percent < 100 ? `${percent} % is sent.` : "All is sent; now it is checked and encrypted.");
    };
    sending.onload = () => {
      if (sending.status === 201) { location.assign(form.dataset.then); return; }
      button.disabled = false;
      let problem;
      try { problem = JSON.parse(sending.responseText); } catch { problem = { title: "The upload failed.", detail: "", remedy: "Try again.", code: String(sending.status) }; }
      said(form, "Nothing was stored.");
      refuse(problem.title, problem.detail, problem.remedy, problem.code);
    };
    sending.onerror = () => { button.disabled = false; refuse("The connection broke.", "Nothing was stored.", "Try again.", "connection"); };
    button.disabled = true;
    bar.hidden = false;
    document.getElementById("notice").replaceChildren();
    sending.send(file);
  }));
})();
