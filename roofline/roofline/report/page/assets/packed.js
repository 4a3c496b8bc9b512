"use strict";
// Data of the page, from the texts that scripts carry them in: JSON in columns, compressed, in base64.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return valuesOf(await new Response(stream).json(), 1)[0];
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
