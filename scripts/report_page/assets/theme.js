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

function themedAxis(axis) {
  const lines = { color: "var(--faint)", gridcolor: "var(--rule)", linecolor: "var(--line)", zeroline: false };
  return { automargin: true, showline: true, ticks: "outside", ...lines, ...axis };
}

function themedLayout(layout, height, narrow) {
  const { line_at, ...given } = layout;
  const axes = Object.entries(given).filter(([key]) => /^[xy]axis/.test(key));
  return themed({
    ...given,
    xaxis: themedAxis({}), yaxis: themedAxis({}),
    ...Object.fromEntries(axes.map(([key, axis]) => [key, themedAxis(axis)])),
    height,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "var(--text)" },
    paper_bgcolor: "var(--page)", plot_bgcolor: "var(--page)",
    margin: { l: narrow ? 8 : 60, r: 12, t: 12, b: 46 },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: 12 }, itemsizing: "constant" },
    hoverlabel: { bgcolor: "var(--panel)", bordercolor: "var(--line)", align: "left", font: { color: "var(--text)" } },
    hovermode: "closest",
    // A finger that moves over a plot moves the page.
    dragmode: matchMedia("(pointer: coarse)").matches || narrow ? false : "zoom",
    shapes: [
      ...(given.shapes || []),
      ...(line_at ? [{ type: "line", x0: line_at, x1: line_at, yref: "paper", y0: 0, y1: 1, line: { color: "var(--text)", width: 1 } }] : []),
    ],
  });
}
