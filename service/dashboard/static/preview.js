"use strict";
// The beginning of the chosen file beside the declaration. The file is read in this browser; nothing is sent here.
(() => {
  const BYTES = 1 << 16;
  const ROWS = 50;
  const SHOWN = 5;
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const DELIMITERS = { ",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars" };
  const OF_COLUMNS = ["Column", "Declared", "First values", "Result"];
  const OF_TYPES = ["Column", "Declared", "Type", "Result"];
  const OF_IMAGES = ["Part", "Declared", "In the file", "Result"];

  const BLANKS = " \u00a0\u202f";
  const GROUPING = { ",": ",", ".": ".", "'": "'\u2019", " ": BLANKS };
  const CLOCK = /^(\d{1,4}):([0-5]\d)(?::[0-5]\d(?:\.\d+)?)?[ \u00a0\u202f]?([ap]m)?$/i;
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  // 17:45 as 1065.
  const minutes = (value) => {
    const found = CLOCK.exec(value);
    if (!found) return value;
    const large = Number(found[1]);
    if (!found[3]) return String(large * 60 + Number(found[2]));
    if (large < 1 || large > 12) return "_";
    return String((large % 12 + (found[3].toLowerCase() === "pm" ? 12 : 0)) * 60 + Number(found[2]));
  };

  // A number of a declared format, without affixes and without the signs that group thousands.
  const formatted = (value, { thousands, decimal_mark: own, affixes = [], clock }, { decimal }) => {
    if (clock) return minutes(value);
    const left = decimal === thousands ? { ".": ",", ",": "." }[decimal] : decimal;
    const mark = own ?? left;
    const affix = `(?:${affixes.map(escaped).join("|")})`;
    const [before, after] = affixes.length ? [`(?:${affix}[${BLANKS}]?)?`, `(?:[${BLANKS}]?${affix})?`] : ["", ""];
    const grouped = thousands ? `[1-9]\\d{0,2}(?:[${escaped(GROUPING[thousands])}]\\d{3})+|` : "";
    const found = new RegExp(`^([+-]?)[${BLANKS}]?${before}([+-]?)(${grouped}\\d+)(?:${escaped(mark)}(\\d+))?${after}$`).exec(value);
    return found ? `${found[1]}${found[2]}${found[3].replace(/\D/g, "")}.${found[4] ?? "0"}` : "_";
  };

  // A number as JavaScript reads it; the other mark stands in no number.
  const plain = (value, column, dialect) => {
    if (column.format) return formatted(value, column.format, dialect);
    return dialect.decimal === "," ? value.replaceAll(".", "_").replaceAll(",", ".") : value;
  };

  const isBetween = (value, { lower, upper }) => (lower === null || value >= lower) && (upper === null || value <= upper);

  // The part of a text that counts, as core/plan/domain/columns/prefixes.py cuts it.
  const shortened = (text, prefix) => {
    if (prefix === "letters") return /^[A-Za-z]+/.exec(text)?.[0] ?? text;
    return prefix === null ? text : [...text].slice(0, prefix).join("");
  };

  // Whether a value is as declared; kinds that only the service can judge pass.
  const isDeclared = (column, value, dialect) => {
    if (dialect.nulls.includes(value)) return column.null !== "refuse";
    if (column.kind === "numeric") {
      const number = plain(value, column, dialect);
      return NUMBER.test(number) && (column.specials.includes(Number(number)) || isBetween(Number(number), column));
    }
    return column.words === null || column.words.includes(shortened(value, column.prefix));
  };

  // The declared name of a column of the file: blanks around it do not count, as in intake (core/data/intake/header.py).
  const declaredName = (columns, name) => {
    if (columns.some((column) => column.name === name)) return name;
    const same = columns.filter((column) => column.name.trim() === name.trim());
    return same.length === 1 ? same[0].name : name;
  };

  const undeclared = (columns, names) => names
    .filter((name, place) => names.indexOf(name) !== place || !columns.some((column) => column.name === name))
    .map((name) => [name || "(no name)", "–", "–", "not declared, or repeated", "bad"]);

  const compare = ({ columns, dialect }, header, rows) => {
    const found = columns.map((column, number) => {
      const place = dialect.header ? header.indexOf(column.name) : number;
      if (place < 0) return [column.name, column.holds, "–", "missing in the file", "bad"];
      if (!dialect.header && rows.some((one) => one.length !== columns.length)) return [column.name, column.holds, "–", "wrong number of columns", "bad"];
      const values = rows.map((one) => (dialect.strip ? (one[place] ?? "").trim() : one[place] ?? ""));
      const others = values.filter((value) => !isDeclared(column, value, dialect)).length;
      return [column.name, column.holds, values.slice(0, SHOWN).map((value) => value || "(empty)").join(", "),
        others ? `${others} of ${values.length} not as declared` : "as declared", others ? "wait" : "good"];
    });
    return [...found, ...(dialect.header ? undeclared(columns, header) : [])];
  };

  // Another delimiter than the declared one makes one column of all.
  const delimited = (line, dialect) => {
    const counts = Object.keys(DELIMITERS).map((sign) => [sign, line.split(sign).length]);
    const [other, most] = counts.sort((one, next) => next[1] - one[1])[0];
    return line.includes(dialect.delimiter) || most < 2 ? "" : ` The first line has ${DELIMITERS[other]} between its fields; ${DELIMITERS[dialect.delimiter] ?? "another sign"} are declared.`;
  };

  const differing = (rows, thing) => {
    const wrong = rows.filter(([, , , , state]) => state === "bad" || state === "wait").length;
    return wrong ? `${Beginning.many(wrong, thing)} ${wrong === 1 ? "differs" : "differ"} from the declaration` : `All ${thing}s match the declaration`;
  };

  const csv = (begun, declared) => {
    const { dialect } = declared;
    const text = Beginning.text(begun, dialect.encoding);
    const found = Beginning.records(text, dialect, ROWS, begun.isWhole);
    if (!found.length) throw new Unreadable("The file has no complete record in its first 64 KiB.");
    const header = dialect.header ? found[0].map((name) => declaredName(declared.columns, name)) : [];
    const lines = (dialect.header ? found.slice(1) : found).slice(0, ROWS);
    const rows = compare(declared, header, lines);
    const hint = declared.columns.length > 1 ? delimited(text.split("\n", 1)[0], dialect) : "";
    return { heads: OF_COLUMNS, rows, said: `${differing(rows, "column")} in the first ${Beginning.many(lines.length, "row")}.${hint}` };
  };

  const gzip = async (file) => {
    const magic = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    if (magic[0] !== 0x1f || magic[1] !== 0x8b) throw new Unreadable("The file does not begin as gzip does.");
    return Beginning.unpacked(file, "gzip", BYTES);
  };

  const parquet = async (file, { columns }) => {
    const found = await Parquet.read(file);
    for (const one of found.columns) one.name = declaredName(columns, one.name);
    const rows = columns.map((column) => {
      const there = found.columns.find((one) => one.name === column.name);
      if (!there) return [column.name, column.holds, "–", "missing in the file", "bad"];
      const isNested = there.type === "list or structure" && column.kind !== "ignored";
      return [column.name, column.holds, there.type, isNested ? "one value a row is needed" : "values are checked after sending", isNested ? "bad" : "over"];
    });
    rows.push(...undeclared(columns, found.columns.map((one) => one.name)));
    return { heads: OF_TYPES, rows, said: `${Beginning.many(found.rows, "row")} in ${Beginning.many(found.groups, "row group")}. ${differing(rows, "column")} by name.` };
  };

  const images = async (found) => {
    const { rows, pictures, said } = await found;
    return { heads: OF_IMAGES, rows, pictures, said: `${said}. ${differing(rows, "part")}, as far as the beginning shows.` };
  };

  const OF_A_TABLE = {
    csv: async (file, declared) => csv(await Beginning.plain(file, BYTES), declared),
    gz: async (file, declared) => csv(await gzip(file), declared),
    parquet,
  };
  const OF_PICTURES = {
    zip: (file, declared) => images(ImagePreview.zip(file, declared.images)),
    npz: (file, declared) => images(ImagePreview.npz(file, declared.images)),
  };

  const read = async (file, declared) => {
    const readers = declared.images ? OF_PICTURES : OF_A_TABLE;
    const reader = readers[file.name.split(".").pop().toLowerCase()];
    if (!reader) throw new Unreadable(declared.images ? "Images are sent as ZIP or NPZ." : "A table is sent as CSV, CSV.GZ or Parquet.");
    if (!file.size) throw new Unreadable("The file is empty.");
    try {
      return await reader(file, declared);
    } catch (error) {
      throw error instanceof Unreadable ? error : new Unreadable("The file cannot be previewed. The service checks it after it is sent.");
    }
  };

  const made = (parent, tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    parent.append(element);
    return element;
  };

  // Roles, because a phone shows each row as a block.
  const shownRows = (rows, heads) => {
    const body = document.createElement("tbody");
    body.setAttribute("role", "rowgroup");
    for (const [name, declared, found, result, state] of rows) {
      const row = made(body, "tr");
      row.setAttribute("role", "row");
      const first = made(row, "th", name);
      first.scope = "row";
      first.setAttribute("role", "rowheader");
      [declared, found, result].forEach((text, place) => {
        const cell = made(row, "td", place === 2 ? undefined : text);
        if (place === 2) made(cell, "span", text, `state ${state}`);
        cell.setAttribute("role", "cell");
        cell.dataset.label = heads[place + 1];
      });
    }
    return body;
  };

  const shownPicture = (list, { label, picture, flaw }) => {
    const item = made(list, "li");
    if (picture) {
      const canvas = made(item, "canvas");
      canvas.width = Math.min(picture.width, 256);
      canvas.height = Math.min(picture.height, 256);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", label);
      const context = canvas.getContext("2d");
      if (picture instanceof ImageData) context.putImageData(picture, 0, 0);
      else context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    }
    made(item, "span", label);
    if (flaw) made(item, "span", flaw, "state bad");
  };

  const show = (section, { said, heads = [], rows = [], pictures = [] }) => {
    const table = section.querySelector("table");
    section.querySelector("[data-said]").textContent = said;
    section.querySelector(".scroll").hidden = !rows.length;
    table.querySelectorAll("thead th").forEach((head, place) => { head.textContent = heads[place] ?? ""; });
    table.tBodies[0].replaceWith(shownRows(rows, heads));
    const list = section.querySelector("[data-pictures]");
    list.replaceChildren();
    list.hidden = !pictures.length;
    for (const picture of pictures) shownPicture(list, picture);
    section.hidden = false;
  };

  const preview = async (form, section) => {
    const input = form.querySelector("input[type=file]");
    const file = input.files[0];
    section.hidden = true;
    if (!file) return;
    let found;
    try {
      found = await read(file, JSON.parse(form.dataset.declared));
    } catch (error) {
      found = { said: error.message };
    }
    if (input.files[0] === file) show(section, found);
  };

  document.querySelectorAll("form[data-declared]").forEach((form) => {
    const section = document.getElementById("preview");
    form.querySelector("input[type=file]").addEventListener("change", () => preview(form, section));
    preview(form, section); // a file that was chosen before this script was there
  });
})();
