"use strict";
// Elements, and tables that sort, filter and copy. Texts of results get into the page through textContent alone.

// More would make a browser slow; CSV has all.
const MOST_ROWS = 1000;
// Rows from which on a filter helps.
const LEAST_TO_FILTER = 8;
// Characters of a text, such as a time or a range, that stays in one line.
const SHORT = 16;
// Characters of a sentence: where the last column has some, a narrow window stacks the cells of a row.
const SENTENCE = 40;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function say(text) {
  document.getElementById("status").textContent = text;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea");
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}

function copyButton(label, what, text) {
  const button = element("button", { type: "button", text: label });
  button.addEventListener("click", async () => {
    await copy(text(), what());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

function nameOf(column) {
  return column.name ?? column.title;
}

// What a spreadsheet would run begins with an apostrophe, as in the report's files; a number in a text stays as it is.
function spreadsheetText(text) {
  return /^[=+\-@]/.test(text) && !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? `'${text}` : text;
}

function csvOf(names, rows) {
  const cell = (value) => {
    const text = value === null ? "" : typeof value === "string" ? spreadsheetText(value) : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

// What a cell is copied as: its text, where nothing else is known.
function valueOf(data, row, index) {
  return data.values?.[index] ? data.values[index][row] : data.shown[row][index];
}

// A missing value is the last in either direction.
function compare(a, b, down) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "string" || typeof b === "string"
    ? String(a).localeCompare(String(b), undefined, { numeric: true })
    : Number(a) - Number(b);
  return down ? -order : order;
}

// What a cell is sorted by and drawn as: where it has no value, the number that a text such as "1.28-2.5" begins with.
function amountOf(data, row, index) {
  if (data.values?.[index]) return data.values[index][row];
  const text = data.shown[row][index];
  if (text === "-") return null;
  const [, digits, prefix] = (data.columns[index].right && /^([+-]?[\d.]+)(?: ([nµmkMGTP])?)?/.exec(text)) || [];
  return digits === undefined ? text : Number(digits) * (PREFIXES[prefix] ?? 1);
}

// `open` is called with the number of what a row opens, by a button in the column `opens`. The element's `choose` takes a
// test of row numbers. `first` rows are shown until all are asked for, or some by a filter.
function tableOf(data, { label, open = null, opens = "case", first = MOST_ROWS }) {
  const state = { column: -1, down: false, words: [], chosen: () => true, all: false, first };
  const ends = data.ends ?? [];
  const opening = data.columns.findIndex((column) => nameOf(column) === opens);
  const top = element("tr");
  const body = element("tbody");
  const count = element("span", { class: "note" });
  const heads = data.columns.map((column, index) => {
    const button = element("button", { type: "button", class: "plain", text: column.title });
    const head = element("th", { scope: "col", class: column.right && "right", title: column.meaning || null }, button);
    button.addEventListener("click", () => {
      state.down = state.column === index && !state.down;
      state.column = index;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      fill();
    });
    return head;
  });

  const shownColumns = () => data.columns.map((_, index) => index).filter((index) => state.all || !data.columns[index].extra);

  function rows() {
    const found = data.shown.map((_, row) => row).filter((row) => state.chosen(row) && state.words.every(
      (word) => data.shown[row].some((text) => text.toLowerCase().includes(word)),
    ));
    if (state.column >= 0) {
      found.sort((a, b) => compare(amountOf(data, a, state.column), amountOf(data, b, state.column), state.down));
    }
    return found;
  }

  function cellOf(row, index) {
    const column = data.columns[index];
    const text = data.shown[row][index];
    const cell = element("td", {
      class: `${column.right ? "right" : "words"}${text.length <= SHORT ? " short" : ""}`, "data-title": text === "-" ? null : column.title,
    });
    const number = data.opens?.[row] ?? null;
    if (open && index === opening && number !== null) {
      const button = element("button", { type: "button", class: "plain", text });
      button.addEventListener("click", () => open(number));
      cell.classList.add("opens");
      cell.append(button);
    } else {
      cell.textContent = text;
    }
    return cell;
  }

  function fill() {
    const shown = rows();
    const columns = shownColumns();
    top.replaceChildren(...columns.map((index) => heads[index]));
    const most = state.words.length ? MOST_ROWS : state.first;
    body.replaceChildren(...shown.slice(0, most).map((row) => element("tr", {}, ...columns.map((index) => cellOf(row, index)))));
    count.classList.toggle("partly", Math.min(shown.length, most) < data.shown.length);
    count.textContent = `${shown.length} of ${data.shown.length} rows${shown.length > most ? `, the first ${most} here` : ""}`;
  }

  const stacks = data.shown.some((row) => row.at(-1).includes(" ") && row.at(-1).length > SENTENCE);
  const table = element("table", { "aria-label": label, class: stacks && "stacks" }, element("thead", {}, top), body);
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
  const whole = element("div", {}, scroll);
  if (data.shown.length > first && first < MOST_ROWS) {
    const every = element("button", { type: "button", text: `All ${data.shown.length} rows`, "aria-pressed": "false" });
    every.addEventListener("click", () => {
      state.first = state.first === first ? MOST_ROWS : first;
      every.setAttribute("aria-pressed", String(state.first !== first));
      fill();
    });
    whole.append(element("div", { class: "bar" }, every));
  }
  const filter = element("input", { type: "search", placeholder: "Filter rows", "aria-label": `Filter: ${label}` });
  filter.addEventListener("input", () => {
    state.words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    fill();
  });
  const copies = copyButton("Copy as CSV", () => `${rows().length} rows`, () => csvOf(
    [...data.columns.map(nameOf), ...ends.map(({ name }) => name)],
    rows().map((row) => [...data.columns.map((_, index) => valueOf(data, row, index)), ...ends.map(({ values }) => values[row])]),
  ));
  const all = element("button", { type: "button", text: "All columns", "aria-pressed": "false" });
  all.addEventListener("click", () => {
    state.all = !state.all;
    all.setAttribute("aria-pressed", String(state.all));
    fill();
  });
  const more = data.columns.some((column) => column.extra) ? [all] : [];
  const long = data.shown.length >= LEAST_TO_FILTER;
  whole.prepend(element("div", { class: "bar" }, ...(long ? [filter] : []), copies, ...more, ...(long ? [count] : [])));
  whole.choose = (test) => {
    state.chosen = test;
    fill();
  };
  fill();
  return whole;
}
