"use strict";
// Data of the page, from the texts that scripts carry them in: JSON in columns, compressed, 15 bits in each character.

const BITS = 15;
const FIRST = 0x3400;

function bytesOf(size, text) {
  const bytes = new Uint8Array(size);
  let [held, bits, at] = [0, 0, 0];
  for (let place = 0; at < size; place += 1) {
    held = (held << BITS) | (text.charCodeAt(place) - FIRST);
    for (bits += BITS; bits >= 8 && at < size; at += 1) bytes[at] = held >> (bits -= 8);
    held &= (1 << bits) - 1;
  }
  return bytes;
}

async function unpacked(size, text) {
  const stream = new Blob([bytesOf(size, text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const [content] = valuesOf(await new Response(stream).json(), 1);
  expand(content);
  return content;
}

// The values that a column is made of.
function valuesOf(column, count) {
  if (column.known) {
    const known = valuesOf(column.known, count);
    const { known: _, ...own } = column;
    const values = valuesOf(own, known.filter(Boolean).length)[Symbol.iterator]();
    return known.map((one) => (one ? values.next().value : null));
  }
  if (column.keys) {
    const made = Array.from({ length: count }, () => ({}));
    for (const [key, having, own] of column.keys) {
      const those = valuesOf(having, count);
      const holders = made.filter((_, index) => those[index]);
      valuesOf(own, holders.length).forEach((value, index) => { holders[index][key] = value; });
    }
    return made;
  }
  if (column.lengths) {
    const lengths = valuesOf(column.lengths, count);
    const items = valuesOf(column.items, lengths.reduce((sum, length) => sum + length, 0));
    let end = 0;
    return lengths.map((length) => items.slice(end, end += length));
  }
  return column.each ?? Array(count).fill(column.all);
}
