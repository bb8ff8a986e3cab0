// Draws a plot when it comes near the view, and again when colours or width change.
const drawn = new Map();  // element: its plot
const BAR = { displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
const isNarrow = (element) => element.clientWidth < 640;
const plotOf = (element) => shown.details?.plots[element.id];
const plotsOfRecord = () => [...document.querySelectorAll("#record .plot")].filter(plotOf);

function draw(element, plot) {
  drawn.set(element, plot);
  reserve(element, plot);
  const narrow = isNarrow(element);
  const layout = plot.rows.length ? rowLayout(plot, narrow) : plot.layout;
  const size = [plotHeight(plot, narrow), element.clientWidth];
  const config = narrow ? { displayModeBar: false } : BAR;
  return Plotly.react(element, themed(plot.traces), themedLayout(layout, ...size), config);
}

// So that nothing moves when the plot comes.
function reserve(element, plot) {
  element.style.minHeight = `${plotHeight(plot, isNarrow(element))}px`;
}

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting && !drawn.has(target) && plotOf(target)) draw(target, plotOf(target));
  }
}, { rootMargin: "600px" });

function watchPlots() {
  for (const element of plotsOfRecord()) {
    reserve(element, plotOf(element));
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
  for (const element of plotsOfRecord()) drawn.set(element, plotOf(element));
  return redraw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let widthDrawn = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === widthDrawn) return;  // the address bar of a phone comes and goes
  widthDrawn = innerWidth;
  requestAnimationFrame(redraw);
});
