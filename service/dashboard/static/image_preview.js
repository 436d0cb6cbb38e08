"use strict";
// What an archive of images holds beside what is declared: files, labels, arrays, and the first pictures.
const ImagePreview = (() => {
  const PICTURES = 6;
  const LINES = 50;
  const LABEL_BYTES = 1 << 16;
  const LARGEST = 2 << 20; // a PNG or JPEG file, as the service takes
  const SHOWN = 12;
  const NAMES = { file: /\.(png|jpe?g)$/i, png: /\.png$/i };
  const COLOURS = { 0: 1, 2: 3 };

  const count = (number) => number.toLocaleString("en").replaceAll(",", "\u202f");
  const shape = ({ height, width, channels }) => `${width} × ${height} pixels, ${channels === 1 ? "grey" : "colour"}`;
  const good = "as declared";
  const row = (what, declared, found, result, state) => [what, declared, found, result, state];
  const listed = (counts) => {
    const all = [...counts].sort((one, other) => other[1] - one[1]);
    const rest = all.length - SHOWN;
    return all.slice(0, SHOWN).map(([name, number]) => `${name}: ${count(number)}`).join(", ") + (rest > 0 ? `, and ${count(rest)} more` : "");
  };
  const tally = (words) => words.reduce((counts, word) => counts.set(word, (counts.get(word) ?? 0) + 1), new Map());

  // One image of an array of bytes, as the browser draws it; grey is repeated in all three colours.
  const drawn = (bytes, { height, width, channels }) => {
    const pixels = new ImageData(width, height);
    for (let at = 0; at < width * height; at += 1) {
      for (let colour = 0; colour < 3; colour += 1) pixels.data[4 * at + colour] = bytes[channels === 1 ? at : 3 * at + colour];
      pixels.data[4 * at + 3] = 255;
    }
    return pixels;
  };

  const isLike = (found, images) => found.type === "|u1" && !found.isTurned && found.shape[1] === images.height && found.shape[2] === images.width
    && (found.shape[3] ?? 1) === images.channels && found.shape.length <= 4;
  const said = ({ type, shape: sides }) => `${type === "|u1" ? "bytes" : type}, ${sides.map(count).join(" × ")}`;
  const firstOf = (bytes, found, images) => {
    const size = images.height * images.width * images.channels;
    const there = Math.min(PICTURES, found.shape[0], Math.floor((bytes.length - found.from) / size));
    return Array.from({ length: there }, (_, at) => ({ label: `image ${at + 1}`, picture: drawn(bytes.subarray(found.from + at * size), images), flaw: null }));
  };
  const enough = ({ height, width, channels }) => PICTURES * height * width * channels + (1 << 12);

  // Arrays of an NPZ, or of IDX files as MNIST has them.
  const arrays = async (file, files, images, read) => {
    const rows = [];
    const pictures = [];
    const lengths = new Set();
    for (const entry of files.slice(0, SHOWN)) {
      const { name, found, bytes } = await read(entry);
      if (!found) { rows.push(row(name, "–", "neither images nor labels", "not declared", "bad")); continue; }
      lengths.add(found.shape[0]);
      if (found.shape.length >= 3) {
        const fits = isLike(found, images);
        rows.push(row(name, shape(images), said(found), fits ? good : "another size, type or order", fits ? "good" : "bad"));
        if (fits) pictures.push(...firstOf(bytes, found, images));
      } else rows.push(row(name, "one for each image", said(found), good, "good"));
    }
    if (lengths.size > 1) rows.push(row("Length", "the same in all", [...lengths].map(count).join(", "), "differs", "bad"));
    return { rows, pictures: pictures.slice(0, PICTURES), said: Beginning.many(Math.max(0, ...lengths), "image") };
  };

  const npz = async (file, images) => {
    const { files } = await Archive.entries(file);
    const wanted = ["images", ...(images.labels.length ? ["labels"] : []), ...(images.unit ? ["units"] : [])];
    const known = files.filter((entry) => wanted.includes(entry.name.replace(/\.npy$/, "")));
    const result = await arrays(file, known, images, async (entry) => {
      const { bytes } = await Archive.content(file, entry, enough(images));
      return { name: entry.name.replace(/\.npy$/, ""), found: Archive.npy(bytes), bytes };
    });
    const there = result.rows.map(([name]) => name);
    for (const name of wanted.filter((one) => !there.includes(one))) result.rows.push(row(name, "an array", "–", "missing in the file", "bad"));
    for (const entry of files.filter((one) => !known.includes(one))) result.rows.push(row(entry.name, "–", "–", "not declared", "bad"));
    return result;
  };

  // How a PNG says that it is, before it is decoded: sixteen bits, a palette and alpha are refused on arrival.
  const flawOfPng = (bytes, images) => {
    if (bytes[0] !== 0x89 || bytes[1] !== 0x50) return null;
    if (bytes[24] > 8) return "16 bits a channel";
    return COLOURS[bytes[25]] === images.channels ? null : "other colours than declared";
  };

  const picture = async (file, entry, images, label) => {
    try {
      if (entry.size > LARGEST) return { label, picture: null, flaw: "larger than 2 MiB" };
      const { bytes } = await Archive.content(file, entry, LARGEST);
      const bitmap = await createImageBitmap(new Blob([bytes], { type: NAMES.png.test(entry.name) ? "image/png" : "image/jpeg" }));
      const size = bitmap.width === images.width && bitmap.height === images.height ? null : `${bitmap.width} × ${bitmap.height} pixels`;
      return { label, picture: bitmap, flaw: size ?? flawOfPng(bytes, images) };
    } catch (error) {
      return { label, picture: null, flaw: error instanceof Unreadable ? error.message : "damaged image" };
    }
  };

  const labelled = async (file, entry, images) => {
    const columns = ["file", ...(images.labels.length ? ["label"] : []), ...(images.unit ? [images.unit] : [])];
    const begun = await Archive.content(file, entry, LABEL_BYTES);
    const [header = [], ...lines] = Beginning.records(Beginning.text(begun), { delimiter: ",", quote: '"' }, LINES, begun.isWhole);
    const fits = [...header].sort().join("\n") === [...columns].sort().join("\n");
    const rows = [row(entry.name, columns.join(", "), header.join(", "), fits ? good : "other columns", fits ? "good" : "bad")];
    const [name, label] = ["file", "label"].map((column) => header.indexOf(column));
    if (fits && label >= 0) {
      const found = lines.map((line) => line[label] ?? "");
      const others = found.filter((word) => !images.labels.includes(word)).length;
      rows.push(row("Labels", `${count(images.labels.length)} labels`, `in the first ${found.length} lines: ${listed(tally(found))}`,
        others ? `${others} of ${found.length} not as declared` : good, others ? "wait" : "good"));
    }
    const folder = entry.name.slice(0, -"labels.csv".length);
    return { rows, of: new Map(fits ? lines.map((line) => [folder + line[name], line[label]]) : []) };
  };

  const folderOf = (entry) => entry.name.split("/").at(-2) ?? "";

  // Without labels.csv a label is the name of the folder that holds the image.
  const byFolders = (pictured, images) => {
    const found = pictured.map(folderOf);
    const others = found.filter((word) => !images.labels.includes(word)).length;
    return { rows: [row("Labels", `${count(images.labels.length)} labels`, `names of folders: ${listed(tally(found.map((word) => word || "no folder")))}`,
      others ? `${others} of ${found.length} not as declared` : good, others ? "wait" : "good")],
      of: new Map(pictured.map((entry) => [entry.name, folderOf(entry)])) };
  };

  const zip = async (file, images) => {
    const { files, isWhole } = await Archive.entries(file);
    const pictured = files.filter((entry) => NAMES.file.test(entry.name));
    const list = files.find((entry) => /(^|\/)labels\.csv$/.test(entry.name));
    const rest = files.filter((entry) => entry !== list && !NAMES.file.test(entry.name));
    if (!pictured.length && rest.length && !list) return arrays(file, rest, images, async (entry) => {
      const begun = await Archive.content(file, entry, enough(images));
      const isPacked = begun.bytes[0] === 0x1f && begun.bytes[1] === 0x8b;
      const { bytes } = isPacked ? await Beginning.unpacked(new Blob([begun.bytes]), "gzip", enough(images), !begun.isWhole) : begun;
      return { name: entry.name, found: Archive.idx(bytes), bytes };
    });
    const needsList = images.labels.length > 0 || Boolean(images.unit);
    const inFolders = !list && !images.unit && pictured.some((entry) => images.labels.includes(folderOf(entry)));
    const labels = list && needsList ? await labelled(file, list, images) : inFolders ? byFolders(pictured, images) : { rows: [], of: new Map() };
    const pictures = [];
    for (const entry of pictured.slice(0, PICTURES)) pictures.push(await picture(file, entry, images, labels.of.get(entry.name) ?? entry.name));
    const flaws = pictures.filter((one) => one.flaw).length;
    const rows = [row("Images", shape(images), `${count(pictured.length)} PNG or JPEG files`, flaws ? `${flaws} of the first ${pictures.length} not as declared` : pictures.length ? good : "missing in the file",
      flaws ? "wait" : pictures.length ? "good" : "bad"), ...labels.rows];
    if (needsList && !list && !inFolders) rows.push(row("labels.csv", "file, label and whose it is, as declared", "–", "missing in the file", "bad"));
    if (!needsList && list) rows.push(row(list.name, "–", "–", "not declared", "bad"));
    const folders = tally(pictured.map((entry) => entry.name.replace(/[^/]*$/, "") || "no folder"));
    if (!inFolders && (folders.size > 1 || !folders.has("no folder"))) rows.push(row("Folders", "–", listed(folders), images.labels.length ? "labels come from labels.csv" : "not stored", "over"));
    if (rest.length) rows.push(row("Other files", "–", listed(tally(rest.map((entry) => entry.name.split(".").pop()))), "refused one by one", "wait"));
    return { rows, pictures, said: `${Beginning.many(pictured.length, "image file")}${isWhole ? "" : " in the part of the directory that was read"}` };
  };

  return { zip, npz };
})();
