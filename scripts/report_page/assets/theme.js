// Colours come from the page's style, where light and dark have values of their own: "var(--name)" in a plot's data.
function themed(value, style = getComputedStyle(document.documentElement)) {
  if (typeof value === "string") {
    const name = value.match(/^var\((--[a-z0-9-]+)\)$/);
    return name ? style.getPropertyValue(name[1]).trim() : value;
  }
  if (Array.isArray(value)) return value.map((one) => themed(one, style));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, themed(one, style)]));
}

const AXIS = {
  automargin: true, showline: true, ticks: "outside", zeroline: false,
  color: "var(--faint)", gridcolor: "var(--rule)", linecolor: "var(--line)",
};

const upright = (x) => (
  { type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: "var(--text)", width: 1 } }
);

// `line_at` is ours: where on the x axis a line stands for what all marks are compared with.
function themedLayout({ line_at: lineAt, shapes = [], ...given }, height, width) {
  const axes = Object.entries({ xaxis: {}, yaxis: {}, ...given }).filter(([key]) => /^[xy]axis/.test(key));
  const touch = matchMedia("(pointer: coarse)").matches;
  return themed({
    ...given,
    ...Object.fromEntries(axes.map(([key, axis]) => [key, { ...AXIS, ...axis }])),
    width,
    height,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "var(--text)" },
    paper_bgcolor: "var(--page)",
    plot_bgcolor: "var(--page)",
    margin: { l: 60, r: 12, t: 12, b: 46, ...given.margin },
    legend: {
      orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: 12 }, itemsizing: "constant", ...given.legend,
    },
    hoverlabel: {
      bgcolor: "var(--panel)", bordercolor: "var(--line)", align: "left", font: { color: "var(--text)" },
    },
    hovermode: "closest",
    dragmode: touch ? false : "zoom",  // a finger that moves over a plot moves the page
    shapes: lineAt ? [...shapes, upright(lineAt)] : shapes,
  });
}
