// Plots with a row for each case: its name stands beside the axis where there is room, else above the row.
const SLOT = 9;
const BETWEEN_ROWS = { wide: 12, narrow: 34 };
const ABOVE = 100;  // axis and its title, and the legend above them
const BELOW = 10;

function plotHeight(plot, narrow) {
  if (!plot.rows.length) return plot.height;
  return plot.rows.length * (plot.slots * SLOT + (narrow ? BETWEEN_ROWS.narrow : BETWEEN_ROWS.wide)) + ABOVE + BELOW;
}

// Of 1, 2, 5, 10, … the powers of ten, where they are enough.
function withFewTicks(axis) {
  const { tickvals = [], ticktext, range: [low, high] = [] } = axis;
  const power = (index) => Math.log10(tickvals[index]);
  const kept = [...tickvals.keys()].filter((index) => Number.isInteger(power(index)));
  if (kept.filter((index) => low <= power(index) && power(index) <= high).length < 2) return axis;
  return { ...axis, tickvals: kept.map((index) => tickvals[index]), ticktext: kept.map((index) => ticktext[index]) };
}

function rowLayout({ rows, slots, layout }, narrow) {
  const every = [...rows.keys()];
  const yaxis = { range: [rows.length - 0.5, -0.5], showgrid: false, ticks: "" };
  const shapes = every.filter((row) => row % 2 === 0).map((row) => ({
    type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1, y0: row - 0.5, y1: row + 0.5,
    fillcolor: "var(--band)", line: { width: 0 },
  }));
  const inside = plotHeight({ rows, slots }, narrow) - ABOVE - BELOW;
  const made = {
    ...layout,
    xaxis: { ...(narrow ? withFewTicks(layout.xaxis) : layout.xaxis), side: "top", tickangle: 0 },
    legend: { y: 1 + 58 / inside },
    margin: { t: ABOVE, b: BELOW },
    shapes,
  };
  if (!narrow) {
    const names = rows.map(([name, shape]) => `${name}<br><span style="font-size:10px">${shape}</span>`);
    return { ...made, yaxis: { ...yaxis, tickvals: every, ticktext: names } };
  }
  const annotations = rows.map(([name, shape], row) => ({
    text: `${name} ${shape}`, xref: "paper", x: 0, xanchor: "left", y: row - 0.5, yanchor: "top", showarrow: false,
    font: { size: 10, color: "var(--faint)" },
  }));
  return { ...made, yaxis: { ...yaxis, tickvals: [] }, annotations, margin: { ...made.margin, l: 8 } };
}
