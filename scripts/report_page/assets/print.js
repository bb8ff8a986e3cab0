// On paper the page is light and as wide as the sheet, and every plot is drawn.
function forPrinting(printing) {
  document.documentElement.classList.toggle("printing", printing);
  return printing ? drawAll() : redraw();
}

addEventListener("beforeprint", () => forPrinting(true));
addEventListener("afterprint", () => forPrinting(false));
matchMedia("print").addEventListener("change", (event) => forPrinting(event.matches));
