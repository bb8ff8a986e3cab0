// Plots with a row for each case: beside the axis where there is room for names, else each name above its row.
const SLOT = 9, BETWEEN = { wide: 12, narrow: 26 }, AROUND = 110;

function rowsHeight(plot, narrow) {
  return plot.rows.length * (plot.slots * SLOT + (narrow ? BETWEEN.narrow : BETWEEN.wide)) + AROUND;
}

function withRows(plot, narrow) {
  const count = plot.rows.length;
  const bands = plot.rows.flatMap((_, row) => row % 2 ? [] : [{
    type: "rect", xref: "paper", x0: 0, x1: 1, y0: row - 0.5, y1: row + 0.5, fillcolor: "var(--band)", line: { width: 0 }, layer: "below",
  }]);
  const names = plot.rows.map(([name, shape]) => `${name}<br><span style="font-size:10px">${shape}</span>`);
  const yaxis = { range: [count - 0.5, -0.5], showgrid: false, ticks: "", tickvals: narrow ? [] : plot.rows.keys().toArray(), ticktext: names };
  const annotations = narrow ? plot.rows.map(([name, shape], row) => ({
    text: `${name} ${shape}`, xref: "paper", x: 0, y: row - 0.5, xanchor: "left", yanchor: "top", showarrow: false, font: { size: 10, color: "var(--faint)" },
  })) : [];
  return { ...plot.layout, xaxis: { ...plot.layout.xaxis, side: "top" }, yaxis, annotations, shapes: bands };
}
