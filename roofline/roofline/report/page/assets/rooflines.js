"use strict";
// Rooflines: cases of a machine under its roofs, and those of several machines.

// Labels beside the right end of each ceiling, moved apart where lines are close. Returns pixels to move each by.
function movedApart(places, gap) {
  const order = places.map((_, index) => index).sort((a, b) => places[b] - places[a]);
  const put = [];
  let below = Infinity;
  for (const index of order) {
    below = Math.min(places[index], below - gap);
    put[index] = below - places[index];
  }
  return put;
}

function roofTraces(data) {
  const line = (x, y, color, width, dash) => (
    { x, y, mode: "lines", line: { color, width, dash }, hoverinfo: "skip" }
  );
  const strong = ink("text");
  const weak = ink("faint");
  return [
    ...data.ceilings.filter((one) => one.knee !== null).map(
      (one) => line([one.knee, one.knee], [data.y[0], one.y], ink("line"), 1, "dot"),
    ),
    ...data.levels.map((one) => line(
      one.x, one.y, one.strong ? strong : weak, one.thin ? 1 : 1.8, one.dash ?? (one.strong ? "solid" : "10px,4px"),
    )),
    ...data.ceilings.map((one) => line(
      one.x, [one.y, one.y], one.strong ? strong : weak, one.strong ? 1.8 : one.thin ? 1 : 1.2, one.dash,
    )),
  ];
}

function roofLabels(data, width, height) {
  const across = width / Math.log10(data.x[1] / data.x[0]);
  const up = height / Math.log10(data.y[1] / data.y[0]);
  const places = data.ceilings.map((one) => (Math.log10(data.y[1] / one.y)) * up);
  const moved = movedApart(places, 17);
  const ceilings = data.ceilings.map((one, index) => ({
    xref: "paper", x: 1, y: Math.log10(one.y), ax: 16, ay: moved[index], xanchor: "left", yanchor: "middle",
    text: escaped(one.label), showarrow: true, arrowhead: 0, arrowwidth: 0.8,
    arrowcolor: ink(one.strong ? "text" : "faint"), font: { color: ink(one.strong ? "text" : "faint") },
  }));
  const angle = Math.atan2(up, across);
  const levels = data.levels.map((one) => {
    // Above its line; DRAM's below it, where another line runs close above.
    const side = one.strong && data.levels.length > 1 ? 1 : -1;
    const along = 3.3 * one.label.length + 15;
    return {
      x: Math.log10(one.x[0]) + (along * Math.cos(angle)) / across,
      y: Math.log10(one.y[0]) + (along * Math.sin(angle)) / up,
      xshift: side * 10 * Math.sin(angle), yshift: -side * 10 * Math.cos(angle),
      textangle: (-angle * 180) / Math.PI, text: escaped(one.label), showarrow: false,
      font: { color: ink(one.strong ? "text" : "faint") },
    };
  });
  return [...ceilings, ...levels];
}

function pointTraces(data, facets, shown) {
  const [models, precisions, modes] = facets;
  const look = (facet, row) => facet.values[facet.of[row]] ?? {};
  const byModel = new Map();
  for (const point of data.points.filter((one) => shown(one.row))) {
    const model = models.of[point.row];
    byModel.set(model, [...(byModel.get(model) ?? []), point]);
  }
  return [...byModel.values()].map((points) => {
    const color = visibleColor(look(models, points[0].row).color);
    return {
      x: points.map((one) => one.x),
      y: points.map((one) => one.y),
      customdata: points.map((one) => one.row),
      mode: "markers",
      hoverinfo: "none",
      error_x: {
        type: "data", symmetric: false, color, thickness: 1.3, width: 3,
        array: points.map((one) => one.high - one.x), arrayminus: points.map((one) => one.x - one.low),
      },
      marker: {
        color,
        opacity: 1,
        size: points.map((one) => POINT_TO_PIXEL * one.size),
        symbol: points.map((one) => look(precisions, one.row).symbol + (one.open ? "-open" : "")),
        line: {
          color: points.map((one) => (one.open ? color : ink(look(modes, one.row).edge ? "text" : "ground"))),
          width: points.map((one) => (look(modes, one.row).edge || one.open ? 1.8 : 0.8)),
        },
      },
    };
  });
}

// Where the names of spots stand: each as near to its own as no spot and no other name is in the way. A spot has a place
// and a radius in pixels. Returns the way from each wanted spot to its name.
function namesBeside(spots, wanted) {
  const put = [];
  return wanted.map((index) => {
    const { x, y, radius } = spots[index];
    const ways = [9, 18, 30, 45, 60].flatMap((far) => [1, 7, 3, 5, 2, 6, 0, 4].map((eighth) => {
      const angle = (eighth * Math.PI) / 4;
      return [(radius + far) * Math.cos(angle), -(radius + far) * Math.sin(angle)];
    }));
    const isFree = ([right, down]) => {
      const clear = (one, gap) => Math.hypot(x + right - one.x, y + down - one.y) >= gap;
      return spots.every((one) => clear(one, one.radius + 8)) && put.every((one) => clear(one, 15));
    };
    const [right, down] = ways.find(isFree) ?? ways[0];
    put.push({ x: x + right, y: y + down });
    return [right, down];
  });
}

// Letters of variants, each with a line to its point.
function letters(data, variants, shown, width, height) {
  const across = width / Math.log10(data.x[1] / data.x[0]);
  const up = height / Math.log10(data.y[1] / data.y[0]);
  const points = data.points.filter(({ row }) => shown(row));
  const spots = points.map((one) => ({
    x: Math.log10(one.x) * across, y: -Math.log10(one.y) * up, radius: (POINT_TO_PIXEL * one.size) / 2,
  }));
  const letterOf = (index) => variants.values[variants.of[points[index].row]]?.letter;
  const wanted = spots.map((_, index) => index).filter(letterOf);
  return namesBeside(spots, wanted).map(([ax, ay], place) => ({
    x: Math.log10(points[wanted[place]].x), y: Math.log10(points[wanted[place]].y), ax, ay, text: letterOf(wanted[place]),
    showarrow: true, arrowhead: 0, arrowwidth: 0.8, arrowcolor: ink("text"), standoff: spots[wanted[place]].radius,
    font: { size: 13 }, borderpad: 0,
  }));
}

function drawRoofline(holder, machine, shown) {
  const room = widthOf(holder) * 0.4;
  const needed = (ceilings) => 6.6 * Math.max(0, ...ceilings.map((one) => one.label.length)) + 25;
  let data = machine.roofline;
  if (needed(data.ceilings) > room) {
    // Without the knee, which stands in the table of roofs, too.
    const short = (label) => label.split(",")[0];
    data = { ...data, ceilings: data.ceilings.map((one) => ({ ...one, label: short(one.label) })) };
  }
  // Labels that are moved apart go above the highest roof.
  const top = 15 + 6 * data.ceilings.length;
  const margin = { l: 95, r: Math.min(needed(data.ceilings), room), t: top, b: 55 };
  const height = 500;
  const width = widthOf(holder) - margin.l - margin.r;
  const log = (title, ends, suffix) => axis(title, {
    type: "log", range: ends.map(Math.log10), tickformat: "~s", ticksuffix: suffix, dtick: 1, exponentformat: "SI",
  });
  const nothing = data.points.length ? [] : [{
    xref: "paper", yref: "paper", x: 0.97, y: 0.04, showarrow: false, text: "no case can be placed", font: { size: 15 },
  }];
  return Plotly.react(
    holder,
    [...roofTraces(data), ...pointTraces(data, machine.facets, shown)],
    layoutOf(holder, {
      height,
      margin,
      xaxis: { ...log("arithmetic intensity (FLOP/byte)", data.x, ""), tickformat: "~g" },
      yaxis: log("attained", data.y, "FLOP/s"),
      annotations: [
        ...roofLabels(data, width, height - margin.t - margin.b),
        ...letters(data, machine.facets[3], shown, width, height - margin.t - margin.b),
        ...nothing,
      ],
    }),
    CONFIG,
  );
}

// Cases of several machines, each in the machine's colour, under all roofs or as shares of each machine's own.
function drawMachines(holder, machines, colors, chooses, shown, byShare) {
  const chosen = machines.map((machine, index) => ({ ...machine.roofline, index })).filter(({ index }) => chooses(index));
  const ends = machines.map((machine) => machine.roofline.x);
  const x = [Math.min(...ends.map(([low]) => low)), Math.max(...ends.map(([, high]) => high))];
  const isDrawn = (one) => one.strong || one.beside;
  const roofs = byShare ? [] : chosen.flatMap(({ levels, ceilings, index }) => [
    ...levels.filter(isDrawn).map((one) => ({ dash: "solid", ...one, index })),
    ...ceilings.filter(isDrawn).map((one) => ({ ...one, y: [one.y, one.y], index })),
  ]);
  const traces = roofs.map(({ x: across, y, dash, thin, index }) => ({
    x: across, y, mode: "lines", hoverinfo: "skip", line: { color: visibleColor(colors[index]), width: thin ? 1 : 1.4, dash },
  }));
  for (const { points, index } of chosen) {
    const drawn = points.filter((one) => shown(index, one.row) && (!byShare || one.share.length));
    const precisions = machines[index].facets.find((facet) => facet.name === "precision");
    const share = ({ share: [low, high] }) => Math.sqrt(low * high);
    traces.push({
      x: drawn.map((one) => one.x),
      y: drawn.map((one) => (byShare ? share(one) : one.y)),
      customdata: drawn.map((one) => [index, one.row]),
      mode: "markers",
      hoverinfo: "none",
      ...(byShare ? {
        error_y: {
          type: "data", symmetric: false, thickness: 1.2, width: 3,
          array: drawn.map((one) => one.share[1] - share(one)),
          arrayminus: drawn.map((one) => share(one) - one.share[0]),
        },
      } : {}),
      marker: {
        color: visibleColor(colors[index]),
        opacity: 1,
        size: drawn.map((one) => POINT_TO_PIXEL * one.size),
        symbol: drawn.map((one) => precisions.values[precisions.of[one.row]].symbol + (one.open ? "-open" : "")),
        line: { color: ink("ground"), width: 0.8 },
      },
    });
  }
  return Plotly.react(holder, traces, layoutOf(holder, {
    height: 480,
    xaxis: axis("arithmetic intensity (FLOP/byte)", {
      type: "log", range: x.map(Math.log10), tickformat: "~g", dtick: 1,
    }),
    yaxis: byShare
      ? axis("share of the machine's own roof", { tickformat: ".0%", rangemode: "tozero" })
      : axis("attained", { type: "log", tickformat: "~s", ticksuffix: "FLOP/s", dtick: 1 }),
  }), CONFIG);
}
