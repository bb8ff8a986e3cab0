// Devices side by side, and one device over time: both draw the numbers that they are given.
const QUANTITIES = {
  time: ["median time", "µs a call", 1 / MICROSECOND],
  speedup: ["speed over fp32", "times fp32", 1],
  margin: ["margin", "margin; 1 is the limit", 1],
  peak: ["peak memory", "MiB", 2 ** -20],
};
const DEVICE_SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "triangle-down"];
const DEVICE_COLOURS = [
  "autocast-bf16", "autocast-fp16", "tf32", "islands-bf16", "cast-fp16", "cast-bf16", "islands-fp16", "fp32",
];
const MOST_SLOTS = 12;  // a row does not grow with every device

// Plotly knows some tags in the text that it draws.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// Estimates are [value, low, high], or [value] where there is no interval.
const errorBars = (estimates, scale, color) => ({
  type: "data", symmetric: false, thickness: 1.5, width: 0, color,
  array: estimates.map(([value, , high = value]) => (high - value) * scale),
  arrayminus: estimates.map(([value, low = value]) => (value - low) * scale),
});

function show(name, plot, caption) {
  const element = byId(name);
  const marks = plot.traces.reduce((sum, trace) => sum + trace.x.length, 0);
  element.dataset.marks = marks;
  byId(`${name}-caption`).textContent = `${marks} marks. ${caption}`.trim();
  return draw(element, plot);
}

function historyTrace(series, entries, quantity, [precision, color]) {
  const [, unit, scale] = QUANTITIES[quantity];
  const own = entries.filter((entry) => entry.precision === precision);
  const words = (entry) => [
    `${precision}, ${entry.verdict}: ${(entry[quantity][0] * scale).toPrecision(4)} ${unit}`,
    series.records[entry.record].join(", "),
  ];
  return {
    mode: "lines+markers",
    name: precision,
    x: own.map((entry) => series.records[entry.record][1]),
    y: own.map((entry) => entry[quantity][0] * scale),
    error_y: errorBars(own.map((entry) => entry[quantity]), scale, color),
    line: { color, width: 1.2 },
    marker: { color, size: 8, symbol: own.map((entry) => entry.shape) },
    hoverinfo: "text",
    hovertext: own.map((entry) => words(entry).map(plain).join("<br>")),
  };
}

function drawHistory(series) {
  const records = new Set(series.devices[byId("history-device").value][1]);
  const row = byId("history-case").value;
  const quantity = byId("history-quantity").value;
  const entries = series.entries.filter((entry) => records.has(entry.record) && entry.row === row);
  const having = entries.filter((entry) => entry[quantity]);
  const traces = series.precisions.map((one) => historyTrace(series, having, quantity, one));
  const [name, unit] = QUANTITIES[quantity];
  const layout = { xaxis: { type: "date" }, yaxis: { title: { text: unit }, rangemode: "tozero" } };
  const without = entries.length - having.length;
  const caption = without ? `${without} results of these records have no ${name} and no mark.` : "";
  const plot = { traces: traces.filter((trace) => trace.x.length), layout, rows: [], height: 400 };
  return show("plot-history", plot, caption);
}

// By trial, of a device's records the newest that has a speed over fp32: they come from the oldest to the newest.
function newestSpeeds(series, records, precision) {
  const found = new Map();
  for (const record of records) {
    for (const entry of series.byRecord[record]) {
      if (entry.precision === precision && entry.speedup) found.set(entry.id, entry);
    }
  }
  return [...found.values()];
}

function deviceTrace(label, index, count, entries, rows) {
  const colour = `var(--${DEVICE_COLOURS[index % DEVICE_COLOURS.length]})`;
  const offset = count > 1 ? 0.56 * (index / (count - 1) - 0.5) : 0;
  const words = (entry) => `${label}, ${entry.row}: ${entry.speedup[0].toPrecision(3)} times the speed of its fp32`;
  return {
    mode: "markers",
    name: plain(label),
    x: entries.map((entry) => entry.speedup[0]),
    y: entries.map((entry) => rows.indexOf(entry.row) + offset),
    error_x: errorBars(entries.map((entry) => entry.speedup), 1, colour),
    // Where colours come again, shapes do not.
    marker: { color: colour, size: 7, symbol: DEVICE_SHAPES[(index + Math.floor(index / 8)) % DEVICE_SHAPES.length] },
    hoverinfo: "text",
    hovertext: entries.map((entry) => plain(words(entry))),
  };
}

// The marks with 1 between them, and 1, 2, 5, 10, … on the axis.
function logAxis(values, title) {
  const powers = [1, ...values].map(Math.log10);
  const [low, high] = [Math.min(...powers), Math.max(...powers)];
  const tens = [...Array(Math.ceil(high) - Math.floor(low) + 1).keys()].map((step) => 10 ** (Math.floor(low) + step));
  const tickvals = tens.flatMap((ten) => (high - low > 3 ? [ten] : [ten, 2 * ten, 5 * ten]));
  const ticktext = tickvals.map((value) => `${Number(value.toPrecision(3))}×`);
  return { type: "log", title: { text: title }, range: [low - 0.15, high + 0.15], tickvals, ticktext };
}

function drawSideBySide(series) {
  const precision = byId("side-precision").value;
  const speeds = series.devices.map(([, records]) => newestSpeeds(series, records, precision));
  const rows = [...new Set(speeds.flat().map((entry) => entry.row))];
  const count = series.devices.length;
  const traces = series.devices.map(([label], index) => deviceTrace(label, index, count, speeds[index], rows));
  const axis = logAxis(traces.flatMap((trace) => trace.x), `${precision}: speed over fp32`);
  const plot = {
    traces: traces.filter((trace) => trace.x.length),
    layout: { xaxis: axis, line_at: 1 },
    rows: rows.map((row) => [plain(row), ""]),
    slots: Math.min(count, MOST_SLOTS),
    height: 300,
  };
  const caption = "Each device against its own fp32, with intervals.";
  return show("plot-side", plot, rows.length ? caption : "No device has a speed over fp32.");
}

const fill = (select, choices) => select.replaceChildren(...choices.map(([label, value]) => new Option(label, value)));

function fillCases(series) {
  const records = series.devices[byId("history-device").value][1];
  const rows = new Set(records.flatMap((record) => series.byRecord[record].map((entry) => entry.row)));
  fill(byId("history-case"), [...rows].map((row) => [row, row]));
}

async function startSeries() {
  if (!byId("series")) return;
  const series = await unpack("series");
  series.byRecord = series.records.map(() => []);
  for (const entry of series.entries) series.byRecord[entry.record].push(entry);
  const lengths = series.devices.map(([, records]) => records.length);
  fill(byId("history-device"), series.devices.map(([label], index) => [label, index]));
  byId("history-device").value = lengths.indexOf(Math.max(...lengths));
  fillCases(series);
  fill(byId("history-quantity"), Object.entries(QUANTITIES).map(([key, [label]]) => [label, key]));
  const compared = new Set(series.entries.filter((entry) => entry.speedup).map((entry) => entry.precision));
  fill(byId("side-precision"), series.precisions.map(([name]) => [name, name]).filter(([name]) => compared.has(name)));
  byId("history-device").addEventListener("change", () => fillCases(series));
  for (const name of ["device", "case", "quantity"]) {
    byId(`history-${name}`).addEventListener("change", () => drawHistory(series));
  }
  byId("side-precision").addEventListener("change", () => drawSideBySide(series));
  await Promise.all([drawHistory(series), drawSideBySide(series)]);
}
