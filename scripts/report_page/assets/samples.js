// The samples of the trial that was chosen: by process and block.
const escapeForPlot = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function samplesPlot(id, { rows, median, interval }) {
  const processes = [...new Set(rows.map(([process]) => process))];
  const place = (index) => index + 1;
  const traces = processes.map((process) => {
    const own = rows.map((row, index) => [...row, index]).filter(([of]) => of === process);
    return {
      mode: "markers", name: `process ${process}`, x: own.map((row) => place(row[4])), y: own.map((row) => row[2] / 1e3),
      marker: { size: 7, symbol: own.map((row) => (row[3] ? "x-thin-open" : ["circle", "diamond", "square", "triangle-up", "star"][process % 5])),
        color: `var(--${["autocast-bf16", "autocast-fp16", "tf32", "islands-bf16", "cast-bf16"][process % 5]})` },
      hoverinfo: "text", hovertext: own.map((row) => `process ${row[0]}, block ${row[1]}: ${(row[2] / 1e3).toPrecision(4)} µs${row[3] ? ", left out" : ""}`),
    };
  });
  const shapes = [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: median / 1e3, y1: median / 1e3, line: { color: "var(--text)", width: 1.2 } }];
  if (interval) {
    shapes.push({ type: "rect", xref: "paper", x0: 0, x1: 1, y0: interval[0] / 1e3, y1: interval[1] / 1e3, fillcolor: "var(--accent)", opacity: 0.12, line: { width: 0 }, layer: "below" });
  }
  const layout = { xaxis: { title: { text: "sample, in the order of processes and blocks" } }, yaxis: { title: { text: "µs a call" } }, shapes };
  return { traces, layout, rows: [], height: 340 };
}

function drawSamples() {
  const choice = byId("samples-trial");
  if (!choice) return;
  const samples = shown.details.samples[choice.value];
  const plot = samplesPlot(choice.value, samples);
  shown.details.plots["plot-samples"] = plot;
  const element = byId("plot-samples");
  element.dataset.marks = samples.rows.length;
  const left = samples.rows.filter((row) => row[3]).length;
  byId("samples-caption").textContent = `${samples.rows.length} of ${samples.total} samples of ${choice.value}` + (left ? `, ${left} of them left out of the numbers` : "");
  if (drawn.has(element)) draw(element, plot);
}
