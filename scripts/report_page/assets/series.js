// Devices side by side, and one device over time. Both draw what they are given; nothing is computed here.
const QUANTITIES = {
  time: ["median time", "µs a call", 1e-3], speedup: ["speed over fp32", "× fp32", 1],
  margin: ["margin", "margin; 1 is the limit", 1], peak: ["peak memory", "MiB", 2 ** -20],
};

const errorBars = (points, scale) => ({
  type: "data", symmetric: false, thickness: 1.5, width: 0,
  array: points.map(([value, , high]) => ((high ?? value) - value) * scale),
  arrayminus: points.map(([value, low]) => (value - (low ?? value)) * scale),
});

function choose(id, choices, then) {
  byId(id).replaceChildren(...choices.map(([label, value]) => new Option(label, value)));
  byId(id).addEventListener("change", then);
}

function show(name, plot, caption) {
  const element = byId(name);
  const marks = plot.traces.reduce((sum, trace) => sum + trace.x.length, 0);
  element.dataset.marks = marks;
  byId(`${name}-caption`).textContent = `${marks} marks. ${caption}`;
  return draw(element, plot);
}

function drawHistory(series) {
  const [, records] = series.devices[byId("history-device").value];
  const row = byId("history-case").value;
  const quantity = byId("history-quantity").value;
  const [, unit, scale] = QUANTITIES[quantity];
  const own = new Set(records);
  const entries = series.entries.filter((entry) => own.has(entry.record) && entry.row === row);
  const having = entries.filter((entry) => entry[quantity]);
  const traces = series.precisions.flatMap(([precision, color]) => {
    const points = having.filter((entry) => entry.precision === precision);
    return points.length ? [{
      mode: "lines+markers", name: precision, x: points.map((entry) => series.records[entry.record][1]), y: points.map((entry) => entry[quantity][0] * scale),
      error_y: { ...errorBars(points.map((entry) => entry[quantity]), scale), color }, line: { color, width: 1.2 },
      marker: { color, size: 8, symbol: points.map((entry) => entry.shape) }, hoverinfo: "text",
      hovertext: points.map((entry) => escapeForPlot(`${entry.precision}, ${entry.verdict}: ${(entry[quantity][0] * scale).toPrecision(4)} ${unit}`) + `<br>${escapeForPlot(series.records[entry.record].join(", "))}`),
    }] : [];
  });
  const layout = { xaxis: { type: "date" }, yaxis: { title: { text: unit }, rangemode: "tozero" } };
  const without = entries.length - having.length;
  return show("plot-history", { traces, layout, rows: [], height: 400 }, without ? `${without} results of these records have no ${QUANTITIES[quantity][0]} and no mark.` : "");
}

function drawSideBySide(series) {
  const precision = byId("side-precision").value;
  const newest = series.devices.map(([, records]) => {
    const found = new Map();
    for (const entry of series.entries) if (records.includes(entry.record) && entry.precision === precision && entry.speedup) {
      const held = found.get(entry.id);
      if (!held || records.indexOf(held.record) < records.indexOf(entry.record)) found.set(entry.id, entry);
    }
    return [...found.values()];
  });
  const rows = [...new Set(newest.flat().map((entry) => entry.row))];
  const slots = series.devices.length;
  const colours = ["autocast-bf16", "autocast-fp16", "tf32", "islands-bf16", "cast-fp16", "cast-bf16", "islands-fp16", "fp32"];
  const shapes = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "triangle-down"];
  const traces = series.devices.flatMap(([label], index) => {
    const color = `var(--${colours[index % colours.length]})`;
    const entries = newest[index];
    return entries.length ? [{
      mode: "markers", name: escapeForPlot(label), x: entries.map((entry) => entry.speedup[0]),
      y: entries.map((entry) => rows.indexOf(entry.row) + (slots > 1 ? 0.56 * (index / (slots - 1) - 0.5) : 0)),
      error_x: { ...errorBars(entries.map((entry) => entry.speedup), 1), color }, marker: { color, size: 7, symbol: shapes[Math.floor(index / 8 + index) % 8] },
      hoverinfo: "text", hovertext: entries.map((entry) => escapeForPlot(`${label}, ${entry.row}: ${entry.speedup[0].toPrecision(3)} times the speed of its fp32`)),
    }] : [];
  });
  const plot = {
    traces, layout: { xaxis: { type: "log", title: { text: `speed of ${precision} over the device's own fp32` } }, line_at: 1 },
    rows: rows.map((row) => [escapeForPlot(row), ""]), slots: Math.min(slots, 12), height: 300,
  };
  return show("plot-side", plot, rows.length ? "Each device against its own fp32, with intervals." : "No device has a speed over fp32 in this precision.");
}

async function startSeries() {
  if (!byId("series")) return;
  const series = await unpack("series");
  const history = () => drawHistory(series), side = () => drawSideBySide(series);
  const cases = () => {
    const own = new Set(series.devices[byId("history-device").value][1]);
    const rows = [...new Set(series.entries.filter((entry) => own.has(entry.record)).map((entry) => entry.row))];
    byId("history-case").replaceChildren(...rows.map((row) => new Option(row, row)));
  };
  const most = series.devices.reduce((best, [, records], index) => (records.length > series.devices[best][1].length ? index : best), 0);
  choose("history-device", series.devices.map(([label], index) => [label, index]), () => { cases(); history(); });
  byId("history-device").value = most;
  cases();
  choose("history-case", [...byId("history-case").options].map((option) => [option.value, option.value]), history);
  choose("history-quantity", Object.entries(QUANTITIES).map(([key, [label]]) => [label, key]), history);
  const compared = series.precisions.map(([name]) => name).filter((name) => series.entries.some((entry) => entry.precision === name && entry.speedup));
  choose("side-precision", compared.map((name) => [name, name]), side);
  await Promise.all([history(), side()]);
}
