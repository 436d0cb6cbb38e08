"use strict";
// Columns, rows and row groups of a Parquet file, from its footer in Thrift's compact protocol. No page of values is read.
const Parquet = (() => {
  const TAIL = 8;
  const MOST = 8 << 20; // as the service takes
  const DEPTH = 16;
  const DAMAGED = "The footer of the Parquet file is damaged.";
  const STORED = ["true or false", "whole number", "whole number", "date and time", "number", "number", "bytes", "bytes"];
  const MEANT = { 1: "text", 4: "text", 5: "decimal number", 6: "date", 7: "time of day", 8: "date and time", 10: "whole number", 12: "text (JSON)", 14: "UUID" };
  const CONVERTED = { 0: "text", 4: "text", 5: "decimal number", 6: "date", 7: "time of day", 8: "time of day", 9: "date and time", 10: "date and time", 19: "text (JSON)" };

  // A structure as an object of its fields by number.
  const decoded = (bytes) => {
    let at = 0;
    const need = (size) => { if (!(size <= bytes.length - at)) throw new Unreadable(DAMAGED); };
    const byte = () => { need(1); at += 1; return bytes[at - 1]; };
    const unsigned = () => {
      let number = 0;
      for (let scale = 1; scale < 2 ** 70; scale *= 128) {
        const one = byte();
        number += (one & 127) * scale;
        if (one < 128) return number;
      }
      throw new Unreadable(DAMAGED);
    };
    const signed = () => { const number = unsigned(); return number % 2 ? -(number + 1) / 2 : number / 2; };
    const raw = (size) => { need(size); at += size; return bytes.subarray(at - size, at); };
    const value = (kind, depth) => {
      if (depth > DEPTH) throw new Unreadable(DAMAGED);
      switch (kind) {
        case 1: return true;
        case 2: return false;
        case 3: return byte();
        case 4: case 5: case 6: return signed();
        case 7: return raw(8);
        case 8: return raw(unsigned());
        case 9: case 10: {
          const head = byte();
          const size = head >> 4 === 15 ? unsigned() : head >> 4;
          need(size);
          return Array.from({ length: size }, () => ((head & 15) <= 2 ? byte() : value(head & 15, depth + 1)));
        }
        case 12: {
          const fields = {};
          for (let number = 0; ;) {
            const head = byte();
            if (head === 0) return fields;
            number = head >> 4 ? number + (head >> 4) : signed();
            fields[number] = value(head & 15, depth + 1);
          }
        }
        default: throw new Unreadable(DAMAGED);
      }
    };
    return value(12, 0);
  };

  const typeOf = (element) => {
    if (element[5] > 0) return "list or structure";
    const meant = element[10] && MEANT[Object.keys(element[10])[0]];
    return meant ?? CONVERTED[element[6]] ?? STORED[element[1]] ?? "unknown";
  };

  // The children of the root, which are the columns; what is nested below them is passed over.
  const columnsOf = (schema) => {
    const after = (place) => {
      let next = place + 1;
      for (let left = schema[place][5] ?? 0; left > 0; left -= 1) next = after(next);
      return next;
    };
    const found = [];
    for (let place = 1, left = schema[0][5]; left > 0; left -= 1, place = after(place)) found.push({ name: new TextDecoder().decode(schema[place][4]), type: typeOf(schema[place]) });
    return found;
  };

  const read = async (file) => {
    const ends = new Uint8Array(await file.slice(-TAIL).arrayBuffer());
    const magic = new TextDecoder().decode(ends.subarray(4));
    if (magic === "PARE") throw new Unreadable("The Parquet file is encrypted. Write it without encryption: it is encrypted when it arrives.");
    if (ends.length < TAIL || magic !== "PAR1") throw new Unreadable("The file does not end as Parquet does: it is cut off, or another format.");
    const size = new DataView(ends.buffer).getUint32(0, true);
    if (size > MOST) throw new Unreadable("The footer of the file is larger than the service takes. Write it with larger row groups.");
    if (size + TAIL > file.size) throw new Unreadable(DAMAGED);
    try {
      const footer = decoded(new Uint8Array(await file.slice(-TAIL - size, -TAIL).arrayBuffer()));
      return { columns: columnsOf(footer[2]), rows: footer[3], groups: footer[4].length };
    } catch {
      throw new Unreadable(DAMAGED);
    }
  };

  return { read };
})();
