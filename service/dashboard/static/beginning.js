"use strict";
// The beginning of a chosen file, read in this browser and no further than asked for: bytes, unpacked bytes, records of CSV.
class Unreadable extends Error {} // its message is a sentence for the person

const Beginning = (() => {
  const SPARE = 1 << 18;

  const joined = (pieces, most) => {
    const bytes = new Uint8Array(Math.min(most, pieces.reduce((sum, piece) => sum + piece.length, 0)));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece.subarray(0, bytes.length - at), at);
      at += Math.min(piece.length, bytes.length - at);
    }
    return bytes;
  };

  const plain = async (blob, most) => ({ bytes: new Uint8Array(await blob.slice(0, most).arrayBuffer()), isWhole: blob.size <= most });

  // Formats are "gzip" and "deflate-raw". Where the blob is a part, its end is no error once something was unpacked.
  const unpacked = async (blob, format, most, isPart = blob.size > most + SPARE) => {
    if (!("DecompressionStream" in window)) throw new Unreadable("This browser cannot unpack files. The service checks the file after it is sent.");
    const part = blob.slice(0, most + SPARE);
    const pieces = [];
    let held = 0;
    let isWhole = false;
    try {
      const reader = part.stream().pipeThrough(new DecompressionStream(format)).getReader();
      while (held <= most) {
        const { done, value } = await reader.read();
        if (done) { isWhole = true; break; }
        pieces.push(value);
        held += value.length;
      }
      if (!isWhole) reader.cancel().catch(() => {});
    } catch {
      if (!held || !isPart) throw new Unreadable("The file cannot be unpacked: it is damaged, or packed in several parts.");
    }
    return { bytes: joined(pieces, most), isWhole };
  };

  // RFC 4180 records of a text, at most one more than `most`. A record that the text cuts off is left out, unless the text is the whole file.
  const records = (text, { delimiter, quote }, most, isWhole) => {
    const found = [];
    let fields = [];
    let field = "";
    let isQuoted = false;
    for (let at = 0; at < text.length && found.length <= most; at += 1) {
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
    if (isWhole && found.length <= most && (field || fields.length)) found.push([...fields, field]);
    return found;
  };

  const text = ({ bytes, isWhole }, encoding = "utf-8") => {
    const label = encoding === "utf-16" ? (bytes[0] === 0xfe ? "utf-16be" : "utf-16le") : encoding;
    try {
      return new TextDecoder(label, { fatal: true }).decode(bytes, { stream: !isWhole });
    } catch {
      throw new Unreadable(`The file is not ${encoding === "utf-8" ? "UTF-8" : encoding} text.`);
    }
  };

  const many = (number, thing) => `${number.toLocaleString("en").replaceAll(",", "\u202f")} ${thing}${number === 1 ? "" : "s"}`;

  return { plain, unpacked, records, text, many };
})();
