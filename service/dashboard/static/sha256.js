"use strict";
// Incremental SHA-256 (FIPS 180-4): crypto.subtle digests only whole buffers, and files may not fit in memory.
const Sha256 = (() => {
  const primes = [];
  for (let candidate = 2; primes.length < 64; candidate += 1) if (primes.every((prime) => candidate % prime)) primes.push(candidate);
  const fraction = (number) => Math.floor((number % 1) * 2 ** 32);
  // Cube roots of the first 64 primes and square roots of the first eight, to 32 fractional bits.
  const K = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
  const START = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
  const turn = (word, by) => (word >>> by) | (word << (32 - by));

  return class {
    #state = START.slice();
    #rest = new Uint8Array(64);
    #held = 0;
    #bytes = 0;
    #words = new Int32Array(64);

    update(piece) {
      this.#bytes += piece.length;
      let from = 0;
      if (this.#held) {
        from = Math.min(64 - this.#held, piece.length);
        this.#rest.set(piece.subarray(0, from), this.#held);
        this.#held += from;
        if (this.#held < 64) return this;
        this.#block(this.#rest, 0);
        this.#held = 0;
      }
      for (; from + 64 <= piece.length; from += 64) this.#block(piece, from);
      this.#rest.set(piece.subarray(from));
      this.#held = piece.length - from;
      return this;
    }

    digest() {
      const bytes = this.#bytes;
      const end = new Uint8Array((this.#held < 56 ? 64 : 128) - this.#held);
      end[0] = 0x80;
      const view = new DataView(end.buffer);
      view.setUint32(end.length - 8, Math.floor(bytes / 2 ** 29));
      view.setUint32(end.length - 4, (bytes % 2 ** 29) * 8);
      this.update(end);
      const found = new Uint8Array(32);
      this.#state.forEach((word, place) => new DataView(found.buffer).setInt32(4 * place, word));
      return found;
    }

    #block(bytes, from) {
      const w = this.#words;
      for (let t = 0, at = from; t < 16; t += 1, at += 4) w[t] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
      for (let t = 16; t < 64; t += 1) {
        const low = turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ (w[t - 15] >>> 3);
        const high = turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ (w[t - 2] >>> 10);
        w[t] = (w[t - 16] + low + w[t - 7] + high) | 0;
      }
      const s = this.#state;
      let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
      for (let t = 0; t < 64; t += 1) {
        const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t]) | 0;
        const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g; g = f; f = e; e = (d + first) | 0; d = c; c = b; b = a; a = (first + second) | 0;
      }
      s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
    }
  };
})();
