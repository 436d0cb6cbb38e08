"use strict";
// Entries of a ZIP archive from its directory, the beginning of one entry, and shapes of arrays (NPY, IDX).
const Archive = (() => {
  const END = 22;
  const LONGEST_COMMENT = 65535;
  const MOST = 16 << 20; // of the directory; the names after it are not read
  const FULL = 0xffffffff;

  const view = async (file, from, to) => new DataView(await file.slice(from, to).arrayBuffer());
  const large = (data, at) => Number(data.getBigUint64(at, true));

  // Where the directory is: of a small archive in its last record, of a large one (ZIP64) in the record that a locator before it names.
  const place = async (file) => {
    const tail = await view(file, Math.max(0, file.size - END - LONGEST_COMMENT), file.size);
    let at = tail.byteLength - END;
    while (at >= 0 && !(tail.getUint32(at, true) === 0x06054b50 && at + END + tail.getUint16(at + 20, true) === tail.byteLength)) at -= 1;
    if (at < 0) throw new Unreadable("The file does not end as a ZIP archive does: it is cut off, or another format.");
    const found = { count: tail.getUint16(at + 10, true), size: tail.getUint32(at + 12, true), start: tail.getUint32(at + 16, true) };
    if (found.count !== 0xffff && found.size !== FULL && found.start !== FULL) return found;
    if (at < 20 || tail.getUint32(at - 20, true) !== 0x07064b50) return found;
    const from = large(tail, at - 12);
    const record = await view(file, from, from + 56);
    return { count: large(record, 32), size: large(record, 40), start: large(record, 48) };
  };

  const entryAt = (data, at) => {
    const length = data.getUint16(at + 28, true);
    const extra = at + 46 + length;
    const entry = {
      name: new TextDecoder().decode(new Uint8Array(data.buffer, at + 46, length)),
      isEncrypted: (data.getUint16(at + 8, true) & 1) === 1, method: data.getUint16(at + 10, true),
      packed: data.getUint32(at + 20, true), size: data.getUint32(at + 24, true), offset: data.getUint32(at + 42, true),
    };
    const end = extra + data.getUint16(at + 30, true);
    for (let field = extra; field + 4 <= end; field += 4 + data.getUint16(field + 2, true)) {
      if (data.getUint16(field, true) !== 1) continue;
      let next = field + 4;
      for (const name of ["size", "packed", "offset"]) if (entry[name] === FULL) { entry[name] = large(data, next); next += 8; }
    }
    return { entry, next: end + data.getUint16(at + 32, true) };
  };

  // Files as the service counts them, without folders and what systems add; `count` is that of all entries.
  const entries = async (file) => {
    try {
      const { count, size, start } = await place(file);
      const data = await view(file, start, start + Math.min(size, MOST));
      const found = [];
      let seen = 0;
      for (let at = 0; at + 46 <= data.byteLength && data.getUint32(at, true) === 0x02014b50; seen += 1) {
        const { entry, next } = entryAt(data, at);
        if (next > data.byteLength) break;
        if (!/\/$|(^|\/)(__MACOSX\/|\.[^/]*$)/.test(entry.name)) found.push(entry);
        at = next;
      }
      if (seen < count && size <= MOST) throw new Unreadable("The directory of the ZIP archive is damaged.");
      return { files: found, isWhole: seen === count };
    } catch (error) {
      throw error instanceof Unreadable ? error : new Unreadable("The directory of the ZIP archive is damaged.");
    }
  };

  const content = async (file, entry, most) => {
    if (entry.isEncrypted) throw new Unreadable("Files in the archive are encrypted. Write it without a password: it is encrypted when it arrives.");
    const head = await view(file, entry.offset, entry.offset + 30);
    if (head.byteLength < 30 || head.getUint32(0, true) !== 0x04034b50) throw new Unreadable("A file in the archive is damaged.");
    const start = entry.offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
    const packed = file.slice(start, start + entry.packed);
    if (entry.method === 0) return Beginning.plain(packed, most);
    if (entry.method === 8) return Beginning.unpacked(packed, "deflate-raw", most);
    throw new Unreadable("Files in the archive are packed by another method than deflate.");
  };

  const npy = (bytes) => {
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (bytes.length < 12 || data.getUint32(0) !== 0x934e554d) throw new Unreadable("An array of the archive is damaged.");
    const [from, size] = bytes[6] < 2 ? [10, data.getUint16(8, true)] : [12, data.getUint32(8, true)];
    const said = new TextDecoder("latin1").decode(bytes.subarray(from, from + size));
    const type = /'descr':\s*'([^']+)'/.exec(said);
    const shape = /'shape':\s*\(([^)]*)\)/.exec(said);
    if (!type || !shape) throw new Unreadable("An array of the archive is damaged, or holds objects.");
    return { type: type[1], shape: shape[1].split(",").filter((one) => one.trim()).map(Number), isTurned: said.includes("'fortran_order': True"), from: from + size };
  };

  const idx = (bytes) => {
    if (bytes.length < 8 || bytes[0] || bytes[1] || bytes[2] !== 8 || bytes.length < 4 + 4 * bytes[3]) return null;
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return { type: "|u1", shape: Array.from({ length: bytes[3] }, (_, at) => data.getUint32(4 + 4 * at)), isTurned: false, from: 4 + 4 * bytes[3] };
  };

  return { entries, content, npy, idx };
})();
