// The samples of the trial that was chosen: by process and block.
const PROCESS_SHAPES = ["circle", "diamond", "square", "triangle-up", "star"];
const PROCESS_COLOURS = ["autocast-bf16", "autocast-fp16", "tf32", "islands-bf16", "cast-bf16"];
const MICROSECOND = 1e3;

function processTrace(process, rows) {
  const own = rows.map(([of, block, ns, out], index) => ({ of, block, time: ns / MICROSECOND, out, place: index + 1 }))
    .filter(({ of }) => of === process);
  const words = ({ block, time, out }) => `process ${process}, block ${block}: ${time.toPrecision(4)} µs`
    + (out ? ", left out of the numbers" : "");
  return {
    mode: "markers",
    name: `process ${process}`,
    x: own.map(({ place }) => place),
    y: own.map(({ time }) => time),
    marker: {
      size: 7,
      symbol: own.map(({ out }) => (out ? "x-thin-open" : PROCESS_SHAPES[process % PROCESS_SHAPES.length])),
      color: `var(--${PROCESS_COLOURS[process % PROCESS_COLOURS.length]})`,
    },
    hoverinfo: "text",
    hovertext: own.map(words),
  };
}

function samplesPlot({ rows, median, interval }) {
  const processes = [...new Set(rows.map(([process]) => process))];
  const across = { xref: "paper", x0: 0, x1: 1 };
  const y = median / MICROSECOND;
  const shapes = [{ ...across, type: "line", y0: y, y1: y, line: { color: "var(--text)", width: 1.2 } }];
  if (interval) {
    const [y0, y1] = interval.map((end) => end / MICROSECOND);
    const look = { fillcolor: "var(--accent)", opacity: 0.14, line: { width: 0 }, layer: "below" };
    shapes.push({ ...across, type: "rect", y0, y1, ...look });
  }
  const layout = {
    xaxis: { title: { text: "sample, in the order of processes and blocks" } },
    yaxis: { title: { text: "µs a call" } },
    shapes,
  };
  return { traces: processes.map((process) => processTrace(process, rows)), layout, rows: [], height: 340 };
}

function drawSamples() {
  const choice = byId("samples-trial");
  if (!choice) return;
  const samples = shown.details.samples[choice.value];
  const element = byId("plot-samples");
  const left = samples.rows.filter((row) => row[3]).length;
  shown.details.plots[element.id] = samplesPlot(samples);
  element.dataset.marks = samples.rows.length;
  byId("samples-caption").textContent = `${samples.rows.length} of ${samples.total} samples of ${choice.value}`
    + (left ? `, ${left} of them left out of the numbers` : "");
  if (drawn.has(element)) draw(element, plotOf(element));
}
