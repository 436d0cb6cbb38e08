"use strict";
// The first rows of the chosen CSV file beside the declared columns. The file is read in this browser; nothing is sent here.
(() => {
  const BYTES = 1 << 16;
  const ROWS = 50;
  const SHOWN = 5;
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  // RFC 4180 records of a text. A record that the text cuts off is left out, unless the text is the whole file.
  const records = (text, { delimiter, quote }, isWhole) => {
    const found = [];
    let fields = [];
    let field = "";
    let isQuoted = false;
    for (let at = 0; at < text.length && found.length <= ROWS; at += 1) {
      const letter = text[at];
      if (isQuoted) {
        if (letter !== quote) field += letter;
        else if (text[at + 1] === quote) { field += quote; at += 1; }
        else isQuoted = false;
      } else if (letter === quote && field === "") isQuoted = true;
      else if (letter === delimiter) { fields.push(field); field = ""; }
      else if (letter === "\n") { found.push([...fields, field.replace(/\r$/, "")]); fields = []; field = ""; }
      else field += letter;
    }
    if (isWhole && found.length <= ROWS && (field || fields.length)) found.push([...fields, field]);
    return found;
  };

  const isBetween = (value, { lower, upper }) => (lower === null || value >= lower) && (upper === null || value <= upper);

  // Whether a value is as declared; kinds that only the service can judge pass.
  const isDeclared = (column, value, dialect) => {
    if (dialect.nulls.includes(value)) return column.null !== "refuse";
    if (column.kind === "numeric") return NUMBER.test(value) && (column.specials.includes(Number(value)) || isBetween(Number(value), column));
    return column.words === null || column.words.includes(value);
  };

  const cell = (row, tag, text, name) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    if (tag === "th") made.scope = "row";
    row.append(made);
  };

  const compare = (declared, header, rows) => {
    const { columns, dialect } = declared;
    const places = columns.map((column, place) => (dialect.header ? header.indexOf(column.name) : place));
    const unknown = dialect.header ? header.filter((name, place) => header.indexOf(name) !== place || !columns.some((column) => column.name === name)) : [];
    const body = document.createElement("tbody");
    let wrong = unknown.length;
    columns.forEach((column, number) => {
      const row = document.createElement("tr");
      cell(row, "th", column.name);
      cell(row, "td", column.holds);
      if (places[number] < 0 || (!dialect.header && rows.some((one) => one.length !== columns.length))) {
        cell(row, "td", "–");
        cell(row, "td", dialect.header ? "missing in the file" : "wrong number of columns", "state bad");
        wrong += 1;
      } else {
        const values = rows.map((one) => (dialect.strip ? (one[places[number]] ?? "").trim() : one[places[number]] ?? ""));
        const others = values.filter((value) => !isDeclared(column, value, dialect)).length;
        cell(row, "td", values.slice(0, SHOWN).map((value) => value || "(empty)").join(", "));
        cell(row, "td", others ? `${others} of ${values.length} not as declared` : "as declared", others ? "state wait" : "state good");
        wrong += others ? 1 : 0;
      }
      body.append(row);
    });
    for (const name of unknown) {
      const row = document.createElement("tr");
      cell(row, "th", name || "(no name)");
      cell(row, "td", "–");
      cell(row, "td", "–");
      cell(row, "td", "not declared, or repeated", "state bad");
      body.append(row);
    }
    return { body, wrong };
  };

  const preview = async (form, section) => {
    const declared = JSON.parse(form.dataset.declared);
    const file = form.querySelector("input[type=file]").files[0];
    section.hidden = true;
    if (!file || !file.name.toLowerCase().endsWith(".csv")) return;
    const bytes = new Uint8Array(await file.slice(0, BYTES).arrayBuffer());
    let found;
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: file.size > BYTES });
      found = records(text, declared.dialect, file.size <= BYTES);
    } catch {
      found = null;
    }
    if (form.querySelector("input[type=file]").files[0] !== file) return;
    const said = section.querySelector("[data-said]");
    const table = section.querySelector("table");
    table.hidden = !found || !found.length;
    section.hidden = false;
    if (table.hidden) { said.textContent = found ? "The file has no complete record in its first 64 KiB." : "The file is not UTF-8 text."; return; }
    const names = declared.dialect.strip ? found[0].map((name) => name.trim()) : found[0];
    const header = declared.dialect.header ? names : [];
    const rows = (declared.dialect.header ? found.slice(1) : found).slice(0, ROWS);
    const { body, wrong } = compare(declared, header, rows);
    table.tBodies[0].replaceWith(body);
    said.textContent = `${wrong ? `${wrong} columns differ from the declaration` : "All columns match the declaration"} in the first ${rows.length} rows.`;
  };

  document.querySelectorAll("form[data-declared]").forEach((form) => {
    const section = document.getElementById("preview");
    form.querySelector("input[type=file]").addEventListener("change", () => preview(form, section));
    preview(form, section); // a file that was chosen before this script was there
  });
})();
