"use strict";
// Charts. Plotly reads some markup in its texts: what comes from results is escaped there, or shown in the tip.

const CONFIG = { displayModeBar: false };
const POINT_TO_PIXEL = 1.5;
const redraws = new Map();
const tip = element("div", { id: "tip", hidden: true });

function ink(name) {
  const probe = element("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// The palette's black can't be seen on a dark ground.
function visibleColor(color) {
  return color === "#000000" ? ink("text") : color;
}

// Draw now, and again where colours or the width change.
function keepDrawn(holder, draw) {
  redraws.set(holder, draw);
  draw();
}

// Paper is narrower than most windows, and light.
const PAPER = 690;
let paper = false;

function widthOf(holder) {
  return paper ? PAPER : holder.clientWidth;
}

// Unfold what has been loaded: printing waits for nothing else, so a line names the rest. Returns what undoes it.
function unfoldLoaded() {
  const folded = [...document.querySelectorAll("details:not([open])")];
  const lacking = folded.filter((one) => one.dataset.filled === "no");
  const loaded = folded.filter((one) => one.dataset.filled !== "no");
  const place = (one) => one.parentElement.closest("details")?.querySelector("summary").textContent;
  const names = lacking.map((one) => [one.querySelector("summary").textContent, place(one)].filter(Boolean).join(" of "));
  const line = element("p", { class: "note", text: `Not printed, as it was not unfolded: ${names.join(", ")}.` });
  loaded.forEach((one) => { one.open = true; });
  lacking.forEach((one) => { one.hidden = true; });
  if (names.length) document.querySelector("main").append(line);
  return () => {
    loaded.forEach((one) => { one.open = false; });
    lacking.forEach((one) => { one.hidden = false; });
    line.remove();
  };
}

window.addEventListener("beforeprint", () => {
  const { theme } = document.documentElement.dataset;
  document.documentElement.dataset.theme = "light";
  paper = true;
  const fold = unfoldLoaded();
  redrawAll();
  window.addEventListener("afterprint", () => {
    fold();
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    paper = false;
    redrawAll();
  }, { once: true });
});

function redrawAll() {
  for (const [holder, draw] of redraws) {
    if (!holder.isConnected) redraws.delete(holder);
    // What is folded in has no width; it is drawn when it is unfolded.
    else if (holder.clientWidth) draw();
  }
}

let resized = 0;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(redrawAll, 150);
});

function axis(title, more = {}) {
  return {
    title: { text: title, font: { size: 13 } },
    gridcolor: ink("grid"),
    linecolor: ink("line"),
    zeroline: false,
    ...more,
  };
}

function layoutOf(holder, more) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: ink("text") },
    showlegend: false,
    hovermode: "closest",
    width: widthOf(holder),
    margin: { l: 90, r: 20, t: 15, b: 50 },
    ...more,
  };
}

// `lines` makes the tip's lines of a point, `open` is called with it.
function listen(holder, lines, open = null) {
  holder.on("plotly_hover", ({ points: [point], event }) => {
    if (point.customdata === undefined) return;
    tip.replaceChildren(...lines(point.customdata).map((text) => element("div", { text })));
    // A modal dialog covers everything outside of it.
    (holder.closest("dialog") ?? document.body).append(tip);
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  });
  holder.on("plotly_unhover", () => { tip.hidden = true; });
  if (open) {
    holder.on("plotly_click", ({ points: [point] }) => {
      tip.hidden = true;
      if (point.customdata !== undefined) open(point.customdata);
    });
  }
}

const DASHES = ["solid", "6px,4px", "2px,3px", "9px,3px,2px,3px"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x"];
const LEGEND_NAME = 40;

function dashOf(place) {
  return DASHES[place % DASHES.length];
}

function nameInLegend(text) {
  return escaped(text.length > LEGEND_NAME ? `${text.slice(0, LEGEND_NAME - 1)}…` : text);
}

// Beside a chart where there is room, else below it. A click on a name takes its line away.
function legendOf(holder, rows) {
  const beside = widthOf(holder) > 800;
  return {
    showlegend: true,
    legend: beside ? { x: 1.02, y: 1, font: { size: 12 } } : { orientation: "h", x: 0, y: -0.22, yanchor: "top" },
    height: beside ? Math.min(720, Math.max(380, 19 * rows + 40)) : 380 + 22 * rows,
    uirevision: "kept",
  };
}

const MARKER = 9;

// The ends of a logarithmic axis with room around its values.
function endsAround(values) {
  if (!values.length) return [1, 10];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = 1.15 * (most / least) ** 0.06;
  return [least / room, most * room];
}

function drawThroughput(holder, machine, shown) {
  const look = (name, row) => {
    const facet = machine.facets.find((one) => one.name === name);
    return { index: facet.of[row], ...facet.values[facet.of[row]] };
  };
  const series = new Map();
  const chosen = machine.throughput.points.filter(({ row }) => shown(row));
  for (const one of chosen) {
    const key = ["model", "precision", "variant"].map((name) => look(name, one.row).index).join();
    series.set(key, [...(series.get(key) ?? []), one]);
  }
  const batches = [...new Set(chosen.map((one) => one.batch))].sort((a, b) => a - b);
  const rates = chosen.map((one) => one.rate);
  const knees = chosen.filter((one) => one.knee);
  const rings = {
    x: knees.map((one) => one.batch),
    y: knees.map((one) => one.rate),
    mode: "markers",
    hoverinfo: "skip",
    showlegend: false,
    marker: { size: 18, symbol: "circle-open", line: { width: 1.8 }, color: ink("text") },
  };
  const traces = [...series.values()].map((points) => {
    points.sort((a, b) => a.batch - b.batch);
    const { row } = points[0];
    const color = visibleColor(look("model", row).color);
    const { symbol } = look("precision", row);
    const { letter, name: variant } = look("variant", row);
    const several = new Set(points.map((one) => one.batch)).size < points.length;
    return {
      x: points.map((one) => one.batch),
      y: points.map((one) => one.rate),
      customdata: points.map((one) => one.row),
      // Several workloads of one batch size have no line between them.
      mode: several ? "markers" : "lines+markers",
      hoverinfo: "none",
      name: nameInLegend([look("model", row).name, look("precision", row).name, ...(letter ? [variant] : [])].join(" ")),
      line: { color, width: 1.5, dash: dashOf(letter ? letter.charCodeAt(0) - 96 : 0) },
      error_y: { type: "data", array: points.map((one) => one.deviation), color, thickness: 1.2, width: 3 },
      marker: { color, size: MARKER, symbol },
    };
  });
  const legend = legendOf(holder, traces.length);
  const spread = chosen.flatMap(({ rate, deviation }) => [rate - deviation, rate, rate + deviation]).filter((one) => one > 0);
  const data = {
    x: endsAround(batches),
    y: endsAround(spread),
    points: chosen.map(({ row, batch, rate }) => ({ row, x: batch, y: rate, size: MARKER / POINT_TO_PIXEL })),
  };
  const variants = machine.facets.find((one) => one.name === "variant");
  return Plotly.react(holder, [rings, ...traces], layoutOf(holder, {
    ...legend,
    // The legend takes about a fifth of the width, or what the height has beyond 380.
    annotations: letters(data, variants, shown, 0.7 * widthOf(holder), (widthOf(holder) > 800 ? legend.height : 380) - 65),
    xaxis: axis("batch size", { type: "log", range: data.x.map(Math.log10), tickvals: batches, ticktext: batches.map(String) }),
    yaxis: axis("samples/s", {
      // Less than a decade may have no 1, 2 or 5 in it.
      type: "log", range: data.y.map(Math.log10), tickformat: "~s",
      ...(Math.max(...rates) < 4 * Math.min(...rates) ? {} : { dtick: "D2" }),
    }),
  }), CONFIG);
}

// Pixels.
const CHANGE_LINE = 15;
const CHANGE_CHARACTER = 6.2;
// Texts above one another: the table has all.
const CHANGE_ROWS = 5;

// Lines, shaded ranges and texts of changes of level; those of several cases before one run share theirs. A text begins
// at its line, or ends there in the right half, above those it would lie on. `width` is that of the plot in pixels.
function marksOf(changes, names, runs, width) {
  const together = new Map();
  for (const one of changes) {
    const key = `${one.at} ${one.commits}`;
    together.set(key, [...(together.get(key) ?? []), one]);
  }
  const ends = [];
  const marks = [...together.values()].sort(([a], [b]) => a.at - b.at).map((group) => {
    const { at, commits } = group[0];
    const sizes = [...group].sort((a, b) => a.change - b.change);
    const [least, most] = [sizes[0], sizes.at(-1)];
    const color = least.change > 0 ? "#D55E00" : most.change < 0 ? "#009E73" : ink("text");
    const what = group.length === 1
      ? `${least.text} ${names(least.row)}`
      : `${group.length} cases ${least.text}${least.text === most.text ? "" : ` to ${most.text}`}`;
    const left = at < runs / 2;
    const place = (width * (at + 0.5)) / runs;
    const length = CHANGE_CHARACTER * Math.max(what.length, commits.length);
    const [from, to] = left ? [place, place + length] : [place - length, place];
    const free = ends.findIndex((taken) => taken.every((one) => to < one.from || from > one.to));
    const row = free < 0 ? ends.length : free;
    ends[row] = [...(ends[row] ?? []), { from, to }];
    const range = [Math.min(...group.map((one) => one.from)), Math.max(...group.map((one) => one.to))];
    return { at, range, color, row, left, text: `${escaped(what)}<br>${escaped(commits)}` };
  });
  const upright = { yref: "paper", y0: 0, layer: "below" };
  return {
    room: 2 * CHANGE_LINE * Math.min(ends.length, CHANGE_ROWS),
    shapes: marks.flatMap(({ at, range, color }) => [
      { ...upright, type: "rect", y1: 1, x0: range[0], x1: range[1], fillcolor: color, opacity: 0.15, line: { width: 0 } },
      { ...upright, type: "line", y1: 1, x0: at, x1: at, line: { color, width: 1.5 } },
    ]),
    annotations: marks.filter(({ row }) => row < CHANGE_ROWS).map(({ at, row, left, text }) => ({
      x: at, y: 1, yref: "paper", yanchor: "bottom", yshift: 2 * CHANGE_LINE * row, xanchor: left ? "left" : "right",
      align: left ? "left" : "right", showarrow: false, text, font: { size: 11, color: ink("text") },
    })),
  };
}

// A line for each case, over the runs in order of time.
function drawHistory(holder, machine, { of, colors, points, changes, runs, table }, shown) {
  const byCase = new Map();
  for (const one of points.filter(({ row }) => shown(row))) byCase.set(of[one.row], [...(byCase.get(of[one.row]) ?? []), one]);
  const order = Object.keys(colors);
  const traces = [...byCase].map(([row, places]) => {
    const color = visibleColor(colors[row]);
    return {
      x: places.map((one) => one.run),
      y: places.map((one) => one.change),
      customdata: places.map((one) => one.row),
      name: nameInLegend(table.shown[places[0].row][0]),
      mode: "lines+markers",
      hoverinfo: "none",
      line: { color, width: 1.2, dash: dashOf(order.indexOf(String(row))) },
      error_y: { type: "data", array: places.map((one) => one.margin), color, thickness: 1, width: 2 },
      marker: { color, size: 7, symbol: SYMBOLS[order.indexOf(String(row)) % SYMBOLS.length] },
    };
  });
  // A legend beside it takes about a fifth of the width; a label takes 120 pixels.
  const width = (widthOf(holder) > 800 ? 0.8 : 1) * widthOf(holder) - 110;
  const every = Math.ceil((120 * runs.length) / width);
  const labelled = runs.map((_, run) => run).filter((run) => run % every === 0);
  const legend = legendOf(holder, traces.length);
  const chosen = (changes?.places ?? []).filter(({ row }) => shown(row));
  const { room, shapes, annotations } = marksOf(chosen, (row) => table.shown[row][0], runs.length, width);
  return Plotly.react(holder, traces, layoutOf(holder, {
    ...legend,
    height: legend.height + room,
    shapes,
    annotations,
    margin: { l: 90, r: 20, t: 15 + room, b: 60 },
    xaxis: axis("", {
      tickangle: 0, range: [-0.5, runs.length - 0.5], tickvals: labelled, ticktext: labelled.map((run) => runs[run].map(escaped).join("<br>")),
    }),
    yaxis: axis("step time relative to the case's median", { tickformat: "+.1~%", zeroline: true, zerolinecolor: ink("line") }),
  }), CONFIG);
}

// A row for each case, its rounds in their order from the top.
function drawVariability(holder, rows) {
  const places = (count, row) => Array.from({ length: count }, (_, index) => row + 0.7 * ((index + 0.5) / count - 0.5));
  const traces = rows.map(({ label, row, rounds, disturbed }, place) => {
    const marked = new Set(disturbed);
    return {
      x: rounds,
      y: places(rounds.length, place),
      customdata: rounds.map((_, index) => ({
        row, lines: [label, `round ${index + 1} of ${rounds.length}${marked.has(index) ? ", disturbed from outside" : ""}`],
      })),
      mode: "markers",
      hoverinfo: "none",
      marker: {
        size: 5,
        opacity: 1,
        color: rounds.map((_, index) => (marked.has(index) ? "#D55E00" : ink("link"))),
        symbol: rounds.map((_, index) => (marked.has(index) ? "x" : "circle")),
      },
    };
  });
  rows.forEach(({ label, row, repeats }, place) => traces.push({
    x: repeats,
    y: repeats.map(() => place),
    customdata: repeats.map((_, index) => ({ row, lines: [label, `repeat ${index + 1} of ${repeats.length}`] })),
    mode: "markers",
    hoverinfo: "none",
    marker: { size: 9, symbol: "line-ns-open", color: ink("text") },
  }));
  return Plotly.react(holder, traces, layoutOf(holder, {
    height: 110 + 26 * rows.length,
    xaxis: axis("step time relative to the case's median", { tickformat: "+.1~%", zeroline: true, zerolinecolor: ink("line") }),
    yaxis: axis("", {
      automargin: true, range: [rows.length - 0.4, -0.6], showgrid: false,
      tickvals: rows.map((_, place) => place), ticktext: rows.map(({ label }) => escaped(label)),
    }),
  }), CONFIG);
}

// A bar for each label, the first at the top, and an upright line over it at its mark.
function drawBars(holder, labels, bars, marks, unit) {
  const longest = Math.max(20, Math.floor(widthOf(holder) / 18));
  const rows = labels.map((_, row) => row);
  const name = (label) => escaped(label.length > longest ? `${label.slice(0, longest - 1)}…` : label);
  const traces = [{
    type: "bar", orientation: "h", x: bars.values, y: rows, customdata: rows, hoverinfo: "none", width: 0.65,
    marker: { color: ink("link") },
  }];
  if (marks) {
    traces.push({
      x: marks.values, y: rows, customdata: rows, mode: "markers", hoverinfo: "none",
      marker: { symbol: "line-ns-open", size: 14, color: ink("text"), line: { width: 2.5 } },
    });
  }
  return Plotly.react(holder, traces, layoutOf(holder, {
    height: 80 + 24 * labels.length,
    margin: { l: 20, r: 20, t: 10, b: 45 },
    xaxis: axis(marks ? `${bars.title}; lines: ${marks.title}` : bars.title, { tickformat: "~s", ticksuffix: unit, rangemode: "tozero" }),
    yaxis: axis("", {
      automargin: true, range: [labels.length - 0.4, -0.6], showgrid: false, tickvals: rows, ticktext: labels.map(name),
    }),
  }), CONFIG);
}

// Ends of an axis: of values that hardly differ, ticks would all read the same.
function wideEnough(values) {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = Math.max(0.1 * (high - low), 0.02 * Math.abs(high), Number.MIN_VALUE);
  return known.length ? [low - room, high + room] : undefined;
}

// Step time, and below it each reading, over one axis of rounds.
function drawRounds(holder, rounds) {
  const parts = [rounds.time, ...rounds.readings];
  const disturbed = (index) => rounds.disturbed?.[index] !== undefined;
  const numbers = rounds.time.values.map((_, index) => index + 1);
  const nameOfAxis = (place) => `y${place ? place + 1 : ""}`;
  const gap = 0.14 / parts.length;
  const layout = layoutOf(holder, {
    height: 130 + 120 * parts.length,
    xaxis: axis("round", { anchor: nameOfAxis(parts.length - 1), tickformat: "d", range: [0, numbers.length + 1] }),
  });
  const traces = parts.map((part, place) => {
    const top = 1 - place / parts.length;
    layout[`yaxis${place ? place + 1 : ""}`] = axis(part.title, {
      domain: [place === parts.length - 1 ? 0 : top - 1 / parts.length + gap, top],
      tickformat: "~s", ticksuffix: part.unit, rangemode: place ? "normal" : "tozero", nticks: 5,
      ...(place ? { range: wideEnough(part.values) } : {}),
    });
    return {
      x: numbers,
      y: part.values,
      yaxis: nameOfAxis(place),
      customdata: numbers.map((number) => number - 1),
      mode: "lines+markers",
      hoverinfo: "none",
      line: { color: ink("line"), width: 1 },
      marker: {
        color: numbers.map((_, index) => (disturbed(index) ? "#D55E00" : ink("link"))),
        symbol: numbers.map((_, index) => (disturbed(index) ? "x" : "circle")),
        size: 7,
      },
    };
  });
  return Plotly.react(holder, traces, layout, CONFIG);
}
