"use strict";
// Dropped files, and uploads to the API in parts that resume after an interruption.
(() => {
  const KINDS = { csv: "text/csv", gz: "application/gzip", parquet: "application/vnd.apache.parquet", zip: "application/zip", npz: "application/x-npz" };
  const ATTEMPTS = 6;
  const PIECE = 1 << 20;
  // The service keeps the upload after these errors.
  const PASSING = new Set(["quota-exceeded", "service-busy", "upload-incomplete", "session-refused", "key-missing", "csrf-refused", "rate-exceeded"]);
  const said = (form, text) => { form.querySelector("[data-status]").textContent = text; };
  const pause = (seconds) => new Promise((done) => { setTimeout(done, 1000 * seconds); });
  const hexadecimal = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const refuse = ({ title, detail, remedy, code }) => {
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

  // One request. XMLHttpRequest, because fetch reports no upload progress.
  const send = (method, path, { token, body, headers = {}, seen }) => new Promise((done) => {
    const sending = new XMLHttpRequest();
    sending.open(method, path);
    sending.setRequestHeader("X-CSRF-Token", token);
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value);
    if (seen) sending.upload.onprogress = (step) => seen(step.loaded);
    const answer = (status) => {
      let document_ = {};
      try { document_ = JSON.parse(sending.responseText); } catch { /* the status says enough */ }
      done({ status, document: document_, wait: Number(sending.getResponseHeader("Retry-After")) || 0 });
    };
    sending.onload = () => answer(sending.status);
    sending.onerror = () => done({ status: 0, document: {}, wait: 0 });
    sending.send(body);
  });
  const json = (value) => ({ body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });

  // Retry after a broken connection, or when the service is busy.
  const insist = async (form, ...request) => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await send(...request);
      const passes = answer.status === 0 || answer.status === 429 || answer.status >= 502;
      if (!passes || attempt === ATTEMPTS) return answer;
      said(form, "Connection lost or service busy. Uploaded parts are kept. Retrying …");
      await pause(Math.max(answer.wait, 2 ** attempt / 2));
    }
  };
  const must = ({ status, document }, wanted) => {
    if (wanted.includes(status)) return document;
    throw Object.assign(new Error("refused"), {
      problem: document.code ? document : { title: "Connection lost.", detail: "Uploaded parts are kept.", remedy: "Press Upload to continue.", code: "connection" },
    });
  };

  const digests = async (bytes, whole) => {
    for (let from = 0; from < bytes.length; from += PIECE) {
      whole.update(bytes.subarray(from, from + PIECE));
      await pause(0);
    }
    return new Uint8Array(window.isSecureContext ? await crypto.subtle.digest("SHA-256", bytes) : new Sha256().update(bytes).digest());
  };

  const begin = async (form, file, kind, key, token) => {
    const known = localStorage.getItem(key);
    if (known) {
      const found = await insist(form, "GET", `/v1/uploads/${known}`, { token });
      if (found.status === 200 && ["open", "completing", "completed"].includes(found.document.state)) return found.document;
    }
    const order = json({ bytes: file.size, content_type: kind });
    const made = must(await insist(form, "POST", `/v1/datasets/${form.dataset.upload}/uploads`, { token, ...order }), [201]);
    localStorage.setItem(key, made.id);
    return made;
  };

  const upload = async (form, file, kind, shown) => {
    const token = form.dataset.token;
    // Identifies the same file again without storing its name or content.
    const key = `understudy-upload ${form.dataset.upload} ${file.size} ${file.lastModified}`;
    try {
      const begun = await begin(form, file, kind, key, token);
      const there = new Map(begun.parts.map((part) => [part.number, part.sha256]));
      const whole = new Sha256();
      for (let number = 1; number <= begun.parts_total; number += 1) {
        const from = (number - 1) * begun.part_bytes;
        const bytes = new Uint8Array(await file.slice(from, from + begun.part_bytes).arrayBuffer());
        const sha256 = await digests(bytes, whole);
        if (begun.state === "open" && there.get(number) !== hexadecimal(sha256)) {
          const digest = `sha-256=:${btoa(String.fromCharCode(...sha256))}:`;
          const headers = { "Content-Type": "application/octet-stream", "Content-Digest": digest };
          const seen = (sent) => shown(from + sent);
          must(await insist(form, "PUT", `/v1/uploads/${begun.id}/parts/${number}`, { token, body: bytes, headers, seen }), [200]);
        }
        shown(from + bytes.length);
      }
      said(form, "Upload complete. Checking and encrypting the rows …");
      const complete = json({ sha256: hexadecimal(whole.digest()) });
      for (;;) {
        const answer = await insist(form, "POST", `/v1/uploads/${begun.id}/complete`, { token, ...complete });
        must(answer, [200, 202]);
        if (answer.status === 200) break;
        await pause(1);
      }
      localStorage.removeItem(key);
    } catch (refusal) {
      // A file that is unreadable, or changed meanwhile, throws an error without a problem.
      const problem = refusal.problem ?? { title: "The file could not be read.", detail: "It may have changed since you chose it.", remedy: "Choose it again.", code: "file" };
      if (refusal.problem && problem.code !== "connection" && !PASSING.has(problem.code)) localStorage.removeItem(key);
      throw problem;
    }
  };

  document.querySelectorAll(".drop").forEach((zone) => {
    const input = zone.querySelector("input[type=file]");
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change"));
    });
  });

  document.querySelectorAll("form[data-upload]").forEach((form) => form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const file = form.querySelector("input[type=file]").files[0];
    const kind = file && KINDS[file.name.split(".").pop().toLowerCase()];
    if (!kind) { refuse({ title: "Unknown file extension.", detail: "Supported: CSV, CSV.GZ, Parquet, ZIP and NPZ.", remedy: "Choose another file.", code: "unsupported-upload" }); return; }
    const button = form.querySelector("button");
    const bar = form.querySelector("progress");
    const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
    let announced = -1;
    const shown = (bytes) => {
      bar.value = 100 * bytes / file.size;
      const percent = Math.floor(bar.value / 5) * 5;
      // In steps of 5 %, so that screen readers are not flooded.
      if (percent !== announced) said(form, `${percent} % uploaded: ${megabytes(bytes)} of ${megabytes(file.size)} MB.`);
      announced = percent;
    };
    button.disabled = true;
    bar.hidden = false;
    document.getElementById("notice").replaceChildren();
    try {
      await upload(form, file, kind, shown);
      location.assign(form.dataset.then);
    } catch (problem) {
      button.disabled = false;
      const goesOn = problem.code === "connection" || PASSING.has(problem.code);
      said(form, goesOn ? "Interrupted. Uploaded parts are kept for a while." : "No row was stored.");
      refuse(problem);
    }
  }));
})();
