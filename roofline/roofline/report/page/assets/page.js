"use strict";
// The page: loads data when it is asked for, and makes sections and the panel of a case of it.

const roofline = (() => {
  // Rows of a table of the overview, so that the machines aren't far below it.
  const FIRST = 20;
  const READ_MACHINES = "Roofs in the colour of their machine, of memory DRAM's alone";
  const asked = new Map();
  let overview = null;
  const plotly = load("plotly");

  // Data scripts call this: a page on disk may load scripts, and no other file.
  async function add(name, size, text) {
    const content = await unpacked(size, text).catch((error) => {
      asked.get(name)?.reject(error);
      throw error;
    });
    if (name !== "overview") {
      asked.get(name)?.resolve(content);
      return;
    }
    // The page's policy knows the hash of this one text.
    document.head.append(element("script", { text: await plotly }));
    start(content);
  }

  function load(name) {
    if (!asked.has(name)) {
      const one = {};
      one.promise = new Promise((resolve, reject) => { Object.assign(one, { resolve, reject }); });
      asked.set(name, one);
      document.head.append(element("script", {
        src: `page/data/${name}.js`,
        onerror: () => one.reject(new Error(`page/data/${name}.js can't be read: keep the folder page beside this file`)),
      }));
    }
    return asked.get(name).promise;
  }

  function notes(lines) {
    return lines.map((text) => element("p", { class: "note", text }));
  }

  function start(content) {
    overview = content;
    document.getElementById("lacking").remove();
    const place = document.getElementById("overview");
    place.append(element("h3", { text: "What needs attention first" }));
    place.append(content.attention.shown.length
      ? tableOf(content.attention, { label: "What needs attention first", open: openCase, first: FIRST })
      : element("p", { text: "Nothing: no row is invalid, flagged or less certain than was asked for." }));
    if (content.verdicts) {
      const { title, table, notes: lines } = content.verdicts;
      place.append(
        element("h3", { text: `Against the baseline: ${title}` }),
        tableOf(table, { label: title, open: openCase, first: FIRST }),
        ...notes(lines),
      );
    }
    place.append(element("h3", { text: "Machines" }), tableOf(content.machines, {
      label: "Machines", open: openMachine, opens: "machine",
    }));
    place.append(...notes(content.notes));
    if (content.costs) {
      const what = "What samples cost";
      place.append(element("h3", { text: what }), tableOf(content.costs, { label: what, open: openCase, first: FIRST }));
    }
    if (content.machines.shown.length > 1) place.append(comparison());
    const name = content.machines.columns.findIndex((column) => nameOf(column) === "machine");
    document.getElementById("machines").append(...content.machines.shown.map((row, index) => sectionOf(row[name], index)));
    document.getElementById("case").addEventListener("close", ({ target }) => target.replaceChildren());
    themeButton();
  }

  // A part of the page that is filled when it is first opened.
  function part(title, attributes, fill, heading = "h2") {
    const whole = element("details", { class: "machine", "data-filled": "no", ...attributes }, element("summary", {}, element(heading, { text: title })));
    whole.addEventListener("toggle", async () => {
      const isFilled = whole.dataset.filled === "yes";
      if (isFilled) redrawAll();
      if (!whole.open || isFilled) return;
      whole.dataset.filled = "yes";
      try {
        await fill(whole);
      } catch (error) {
        whole.append(...notes([error.message]));
      }
    });
    return whole;
  }

  function comparison() {
    return part("Machines beside each other", {}, async (whole) => {
      const place = overview.machines.columns.findIndex((column) => nameOf(column) === "machine");
      const names = overview.machines.shown.map((row) => row[place]);
      const machines = await Promise.all(names.map((_, index) => load(`machine-${index}`)));
      const { title, table, notes: lines } = await load("comparison");
      const facets = [
        { name: "machine", values: names.map((name, index) => ({ name, color: overview.colors[index] })) },
        ...machines[0].facets.map((_, place) => joined(machines.map((machine) => machine.facets[place]))),
      ];
      const hidden = facets.map(() => new Set());
      const shown = (index, row) => facets.every((facet, place) => !hidden[place].has(
        place ? facet.of[index][machines[index].facets[place - 1].of[row]] : index,
      ));
      const whose = new Map(machines.flatMap((machine, index) => machine.cases.opens.map((number, row) => [number, [index, row]])));
      const cases = tableOf(table, { label: title, open: openCase });
      let byShare = false;
      const chart = element("div", {
        class: "chart", role: "img", "aria-label": "Cases of all machines under their roofs; the machines' tables have them",
      });
      const drawn = machines.some(({ roofline: { points, ceilings, levels } }) => points.length + ceilings.length + levels.length);
      const published = machines.some(({ roofline: { ceilings, levels } }) => [...ceilings, ...levels].some((one) => one.beside));
      const draw = () => {
        cases.choose((row) => shown(...whose.get(table.opens[row])));
        if (drawn) drawMachines(chart, machines, overview.colors, (index) => !hidden[0].has(index), shown, byShare);
      };
      const height = ["FLOP/s", "share of own roof"].map((text, index) => {
        const radio = element("input", { type: "radio", name: "height", checked: index === 0 });
        radio.addEventListener("change", () => {
          byShare = index === 1;
          draw();
        });
        return element("label", {}, radio, ` ${text}`);
      });
      whole.append(
        element("div", { class: "toggles" },
          ...facets.map((facet, place) => togglesOf(facet, hidden[place], draw)).filter(Boolean),
          ...(drawn ? [element("fieldset", {}, element("legend", { text: "height" }), ...height)] : [])),
        ...(drawn ? [chart, ...notes([`${READ_MACHINES}${published ? "; dotted: as published" : ""}.`])] : notes(["Not drawn: no case can be placed, and no machine has roofs."])),
        element("h3", { text: title }),
        cases,
        ...notes(lines),
      );
      if (!drawn) return;
      keepDrawn(chart, draw);
      const rowOf = ([index, row]) => machines[index].cases.shown[row];
      listen(
        chart,
        (point) => [`${rowOf(point)[0]} · ${names[point[0]]}`, ...told(machines[point[0]].cases, point[1])],
        ([index, row]) => openCase(machines[index].cases.opens[row]),
      );
    });
  }

  // One facet of several machines: all values, and for each machine their places among them. Colours are the machines'.
  function joined(facets) {
    const values = new Map(facets.flatMap((facet) => facet.values.map(({ name, symbol }) => [name, { name, symbol }])));
    const all = [...values.keys()].sort();
    return {
      name: facets[0].name,
      values: all.map((name) => values.get(name)),
      of: facets.map((facet) => facet.values.map(({ name }) => all.indexOf(name))),
    };
  }

  // The figures of a row as lines, without its name and without what isn't known.
  function told({ columns, shown }, row) {
    return shown[row].map((text, index) => `${columns[index].title}: ${text}`)
      .filter((_, index) => index && shown[row][index] !== "-");
  }

  function openMachine(number) {
    const section = document.getElementById(`machine-${number}`);
    section.open = true;
    section.scrollIntoView();
    section.querySelector("summary").focus();
  }

  function sectionOf(name, index) {
    const whole = part(name, { id: `machine-${index}` }, async (place) => fillMachine(place, await load(`machine-${index}`), index));
    whole.open = index === 0;
    return whole;
  }

  function fillMachine(whole, machine, index) {
    const hidden = machine.facets.map(() => new Set());
    const shown = (row) => machine.facets.every((facet, place) => !hidden[place].has(facet.of[row]));
    const chart = element("div", {
      class: "chart", role: "img", "aria-label": `Roofline of ${machine.title}; the table below has its cases`,
    });
    const table = tableOf(machine.cases, { label: `Cases of ${machine.title}`, open: openCase });
    const { points, ceilings, levels } = machine.roofline;
    const drawn = points.length + ceilings.length + levels.length > 0;
    const redraw = [() => drawn && drawRoofline(chart, machine, shown)];
    const toggles = machine.facets.map((facet, place) => togglesOf(facet, hidden[place], () => {
      table.choose(shown);
      redraw.forEach((draw) => draw());
    }));
    whole.append(
      ...notes(machine.unknown),
      element("h3", { text: "Roofline" }),
      element("div", { class: "toggles" }, ...toggles.filter(Boolean)),
      ...(drawn ? [chart] : []),
      ...notes([...machine.roofline.lines, ...machine.roofline.notes]),
      ...(machine.cases.shown.length ? [element("h3", { text: "Cases" }), table] : []),
    );
    if (machine.throughput) fillThroughput(whole, machine, shown, redraw);
    if (machine.pairs) {
      whole.append(
        element("h3", { text: "Cases that differ in one thing" }),
        tableOf(machine.pairs, { label: `Pairs of cases of ${machine.title}`, open: openCase }),
      );
    }
    if (overview.histories[index]) whole.append(history(machine, index, shown, redraw));
    if (overview.rounds[index]) whole.append(variability(machine, index, shown, redraw));
    if (machine.roofs.shown.length) {
      whole.append(element("h3", { text: "Roofs" }), tableOf(machine.roofs, { label: `Roofs of ${machine.title}` }));
    }
    if (!drawn) return;
    keepDrawn(chart, redraw[0]);
    listenToCases(chart, machine);
  }

  // The tip of a point is its row of the table, and a click opens its case.
  function listenToCases(chart, machine) {
    const { shown, opens } = machine.cases;
    listen(chart, (row) => [shown[row][0], ...told(machine.cases, row)], (row) => openCase(opens[row]));
  }

  function fillThroughput(whole, machine, shown, redraw) {
    const { points, scaling, notes: lines } = machine.throughput;
    if (!scaling.shown.length) return;
    const modes = machine.facets.find((facet) => facet.name === "mode");
    whole.append(element("h3", { text: "Throughput against batch size" }));
    modes.values.forEach((mode, index) => {
      if (new Set(points.filter((one) => modes.of[one.row] === index).map((one) => one.batch)).size < 2) return;
      const chart = element("div", {
        class: "chart", role: "img", "aria-label": `Throughput of ${machine.title}, ${mode.name}; the table below has its cases`,
      });
      whole.append(element("h4", { text: mode.name }), chart);
      const draw = () => drawThroughput(chart, machine, (row) => modes.of[row] === index && shown(row));
      redraw.push(draw);
      keepDrawn(chart, draw);
      listenToCases(chart, machine);
    });
    whole.append(
      ...notes(lines),
      element("h4", { text: "Gain of each doubling of the batch" }),
      tableOf(scaling, { label: `Batch scaling of ${machine.title}`, open: openCase }),
    );
  }

  function history(machine, index, shown, redraw) {
    return part("History", {}, async (whole) => {
      const found = await load(`history-${index}`);
      const label = `Sessions of each case of ${machine.title}`;
      const chart = element("div", { class: "chart", role: "img", "aria-label": `${label}; the table below has them` });
      const table = tableOf(found.table, { label, open: openCase });
      const changes = found.changes && tableOf(found.changes.table, { label: `Changes of ${machine.title}`, open: openCase });
      const chosen = (row) => shown(found.of[row]);
      const draw = () => {
        table.choose(chosen);
        changes?.choose((row) => chosen(found.changes.places[row].row));
        drawHistory(chart, machine, found, chosen);
      };
      whole.append(chart, ...notes(found.notes), ...(changes ? [element("h4", { text: "Changes" }), changes, element("h4", { text: "Sessions" })] : []), table);
      redraw.push(draw);
      keepDrawn(chart, draw);
      listen(
        chart,
        (row) => [found.table.shown[row][0], ...told(found.table, row)],
        (row) => found.table.opens[row] !== null && openCase(found.table.opens[row]),
      );
    }, "h3");
  }

  function variability(machine, index, shown, redraw) {
    return part("Variability", {}, async (whole) => {
      const { rows, notes: lines } = await load(`rounds-${index}`);
      const chart = element("div", {
        class: "chart", role: "img", "aria-label": `Rounds of each case of ${machine.title}; each case's panel has them as a table`,
      });
      const draw = () => drawVariability(chart, rows.filter(({ row }) => row === null || shown(row)));
      whole.append(chart, ...notes(lines));
      redraw.push(draw);
      keepDrawn(chart, draw);
      listen(chart, ({ lines: told }) => told, ({ row }) => row !== null && openCase(machine.cases.opens[row]));
    }, "h3");
  }

  async function openCase(number) {
    const script = Math.floor(number / overview.casesAScript);
    const dialog = document.getElementById("case");
    const title = element("h2", { id: "case-title", tabindex: "-1" });
    const close = element("button", { type: "button", text: "Close", onclick: () => dialog.close() });
    const place = element("div");
    dialog.replaceChildren(element("header", {}, title, close), place);
    if (dialog.open) {
      dialog.scrollTop = 0;
      title.focus();
    } else {
      dialog.showModal();
    }
    try {
      const [cases, environments] = await Promise.all([load(`cases-${script}`), load("environments")]);
      const one = cases[number % overview.casesAScript];
      const sessions = one.sessions === undefined ? null : (await load("sessions"))[one.sessions];
      // Another one may have been opened meanwhile.
      if (!place.isConnected) return;
      title.textContent = one.id;
      fillCase(place, one, environments[one.run], sessions);
    } catch (error) {
      place.append(...notes([error.message]));
    }
  }

  function fillCase(place, one, environment, sessions) {
    place.append(...notes([one.machine, one.standing, one.unknown].filter(Boolean)));
    for (const [heading, table] of [["Flags", one.flags], ["Proofs", one.checks]]) {
      if (table) {
        place.append(element("h3", { text: heading }), tableOf(table, { label: `${heading} of ${one.id}` }));
      }
    }
    place.append(element("h3", { text: "Rounds" }));
    if (one.rounds) fillRounds(place, one);
    else place.append(...notes(["The file has no times of its rounds."]));
    if (sessions) {
      place.append(element("h3", { text: "Sessions of this case" }), tableOf(sessions, {
        label: `Sessions of ${one.id}`, open: openCase, opens: "file",
      }));
    }
    for (const { title: heading, table, notes: lines, bars } of one.step ?? []) {
      place.append(element("h3", { text: heading }));
      if (bars) fillBars(place, heading, table, bars);
      place.append(...(table ? [tableOf(table, { label: heading })] : []), ...notes(lines));
    }
    place.append(
      element("h3", { text: "Measure it again" }),
      element("pre", {}, element("code", { text: one.command })),
      copyButton("Copy", () => "Command", () => one.command),
      element("h3", { text: "All figures" }),
      listOf(Object.entries(one.figures).map(([index, text]) => [overview.figures[index].title, text, overview.figures[index].meaning])),
      element("h3", { text: "Environment" }),
      ...environment.flatMap(({ heading, rows }) => [element("h4", { text: heading }), listOf(rows)]),
    );
  }

  function listOf(rows) {
    return element("dl", {}, ...rows.map(([name, text, meaning]) => element(
      "div", { title: meaning || null }, element("dt", { text: name }), element("dd", { text }),
    )));
  }

  function fillBars(place, heading, table, { names, rows }) {
    const columns = names.map((name) => table.columns.findIndex((column) => nameOf(column) === name)).filter((index) => index >= 0);
    if (!columns.length) return;
    const chart = element("div", { class: "chart", role: "img", "aria-label": `${heading}; the table below has the same` });
    const labels = table.shown.slice(0, rows).map(([label]) => label.replace(/\s+/g, " "));
    const [bars, marks] = columns.map((index) => ({
      title: table.columns[index].title, values: labels.map((_, row) => amountOf(table, row, index)),
    }));
    place.append(chart);
    keepDrawn(chart, () => drawBars(chart, labels, bars, marks, names[0].endsWith("_s") ? "s" : "B"));
    listen(chart, (row) => [labels[row], ...told(table, row)]);
  }

  function fillRounds(place, one) {
    const { time, readings, disturbed, steps } = one.rounds;
    const marked = Object.keys(disturbed ?? {}).length;
    const told = disturbed ? `${marked} disturbed from outside${marked ? " (crosses)" : ""}` : "which were disturbed isn't known";
    const chart = element("div", { class: "chart", role: "img", "aria-label": "Step time of each round; the table below has the same" });
    place.append(
      ...notes([`${time.values.length} rounds of ${steps} step${steps === 1 ? "" : "s"}, ${told}.`]),
      chart,
    );
    const parts = [time, ...readings];
    const rows = time.values.map((_, round) => round);
    const table = {
      columns: [
        { title: "round", right: true },
        ...parts.map(({ name, title }) => ({ name, title, right: true })),
        ...(marked ? [{ title: "disturbed" }] : []),
      ],
      shown: rows.map((round) => [
        String(round + 1), ...parts.map((part) => part.shown[round] ?? "-"), ...(marked ? [disturbed[round] ?? "-"] : []),
      ]),
      values: {
        0: rows.map((round) => round + 1),
        ...Object.fromEntries(parts.map((part, index) => [index + 1, rows.map((round) => part.values[round] ?? null)])),
        ...(marked ? { [parts.length + 1]: rows.map((round) => disturbed[round] ?? null) } : {}),
      },
    };
    place.append(element(
      "details", {}, element("summary", { text: "Rounds as a table" }), tableOf(table, { label: `Rounds of ${one.id}` }),
    ));
    keepDrawn(chart, () => drawRounds(chart, one.rounds));
    listen(chart, (round) => table.columns.map((column, index) => `${column.title}: ${table.shown[round][index]}`));
  }

  function isDark() {
    const own = document.documentElement.dataset.theme;
    return own ? own === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function themeButton() {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      label();
      redrawAll();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      label();
      redrawAll();
    });
    label();
  }

  return { add };
})();
