"use strict";
// Boxes that choose cases by what they have in common, such as their model.

const GLYPHS = {
  circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", "triangle-down": "▼", "triangle-left": "◀",
  "triangle-right": "▶", cross: "✚", x: "✖", star: "★", pentagon: "⬟", hexagon: "⬢",
};

// A box for each value. From three values on, all or none of them can be chosen at once, and with Shift one alone.
function togglesOf(facet, hidden, changed) {
  if (!facet.values.length || (facet.name === "variant" && facet.values.length < 2)) return null;
  const boxes = facet.values.map(() => element("input", { type: "checkbox", checked: true }));
  const choose = (chosen) => {
    boxes.forEach((box, index) => {
      box.checked = chosen(index);
      if (box.checked) hidden.delete(index);
      else hidden.add(index);
    });
    changed();
  };
  const labels = facet.values.map((value, index) => {
    const mark = element("span", { class: value.color ? "swatch" : "mark", "aria-hidden": "true" });
    if (value.color) mark.style.background = value.color === "#000000" ? "currentColor" : value.color;
    else mark.textContent = GLYPHS[value.symbol] ?? "";
    const means = value.edge ? " (outlined)" : value.letter ? ` (letter ${value.letter})` : "";
    const label = element(
      "label", {}, boxes[index], " ", ...(value.color || value.symbol ? [mark, " "] : []), `${value.name}${means}`,
    );
    boxes[index].addEventListener("change", () => choose((other) => boxes[other].checked));
    label.addEventListener("click", (event) => {
      if (!event.shiftKey) return;
      event.preventDefault();
      // A box whose click was prevented gets its old state back first.
      setTimeout(() => choose((other) => other === index));
    });
    return label;
  });
  const several = [["all", true], ["none", false]].map(([text, chosen]) => element("button", {
    type: "button", class: "small", text, "aria-label": `${text}: ${facet.name}`, onclick: () => choose(() => chosen),
  }));
  return element(
    "fieldset", { title: boxes.length > 2 ? "Shift and a click choose one alone" : null },
    element("legend", { text: facet.name }), ...(boxes.length > 2 ? several : []), ...labels,
  );
}
