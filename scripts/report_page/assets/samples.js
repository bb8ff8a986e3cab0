// The samples of the trial that was chosen: by process and block.
const PROCESS_SHAPES = ["circle", "diamond", "square", "triangle-up", "star"];
const PROCESS_COLOURS = ["autocast-bf16", "autocast-fp16", "tf32", "islands-bf16", "cast-bf16"];
const MICROSECOND = 1e3;

function samplesTrace(name, samples, symbol, colour) {
  const words = ({ process, block, time }) => `process ${process}, block ${block}: ${time.toPrecision(4)} µs`;
  return {
    mode: "markers",
    name,
    x: samples.map(({ place }) => place),
    y: samples.map(({ time }) => time),
    marker: { size: 7, symbol, color: `var(--${colour})` },
    hoverinfo: "text",
    hovertext: samples.map(words),
  };
}

function samplesPlot({ rows, median, interval }) {
  const samples = rows.map(([process, block, ns, out], index) => (
    { process, block, time: ns / MICROSECOND, out, place: index + 1 }
  ));
  const processes = [...new Set(samples.map(({ process }) => process))];
  const traces = processes.map((process) => samplesTrace(
    `process ${process}`,
    samples.filter((sample) => sample.process === process && !sample.out),
    PROCESS_SHAPES[process % PROCESS_SHAPES.length],
    PROCESS_COLOURS[process % PROCESS_COLOURS.length],
  ));
  traces.push(samplesTrace("left out", samples.filter(({ out }) => out), "x-thin-open", "text"));
  const across = { xref: "paper", x0: 0, x1: 1 };
  const y = median / MICROSECOND;
  const shapes = [{ ...across, type: "line", y0: y, y1: y, line: { color: "var(--text)", width: 1.2 } }];
  if (interval) {
    const [y0, y1] = interval.map((end) => end / MICROSECOND);
    const look = { fillcolor: "var(--accent)", opacity: 0.14, line: { width: 0 }, layer: "below" };
    shapes.push({ ...across, type: "rect", y0, y1, ...look });
  }
  const layout = {
    xaxis: { title: { text: "sample, by process and block" } },
    yaxis: { title: { text: "µs a call" } },
    shapes,
  };
  return { traces: traces.filter(({ x }) => x.length), layout, rows: [], height: 340 };
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
