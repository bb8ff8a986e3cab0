// Draws a plot when it comes near the view, and again when colours or width change.
const drawn = new Map();  // element: its plot

function draw(element, plot) {
  drawn.set(element, plot);
  const narrow = element.clientWidth < NARROW;
  const height = plot.rows.length ? rowsHeight(plot, narrow) : plot.height;
  const layout = plot.rows.length ? withRows(plot, narrow) : plot.layout;
  const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  element.style.minHeight = `${height}px`;
  return Plotly.react(element, themed(plot.traces), { ...themedLayout(layout, height, narrow), width: element.clientWidth }, config);
}

function reserve(element, plot) {
  const narrow = element.clientWidth < NARROW;
  element.style.minHeight = `${plot.rows.length ? rowsHeight(plot, narrow) : plot.height}px`;
}

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting || drawn.has(target)) continue;
    const plot = shown.details && shown.details.plots[target.id];
    if (plot) draw(target, plot);
  }
}, { rootMargin: "600px" });

function watchPlots() {
  for (const element of document.querySelectorAll("#record .plot")) {
    const plot = shown.details.plots[element.id];
    if (!plot) continue;
    reserve(element, plot);
    watcher.observe(element);
  }
}

function forgetPlots() {
  for (const element of document.querySelectorAll("#record .plot")) {
    watcher.unobserve(element);
    if (drawn.delete(element)) Plotly.purge(element);
  }
}

const redraw = () => Promise.all([...drawn].map(([element, plot]) => draw(element, plot)));

function drawAll() {
  for (const element of document.querySelectorAll("#record .plot")) {
    const plot = shown.details && shown.details.plots[element.id];
    if (plot && !drawn.has(element)) drawn.set(element, plot);
  }
  return redraw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let widthDrawn = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === widthDrawn) return;  // a phone's address bar comes and goes
  widthDrawn = innerWidth;
  requestAnimationFrame(redraw);
});
