// Filters of tables: words that a row must have, and choices for some of its columns.
function filterTable(form) {
  const words = form.querySelector(".find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const choices = [...form.querySelectorAll("select")].filter((select) => select.value);
  const rows = [...byId(form.dataset.table).tBodies[0].rows];
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word))
      || !choices.every(({ dataset, value }) => row.cells[dataset.column].dataset.choice === value);
  }
  const left = rows.filter((row) => !row.hidden).length;
  form.querySelector("output").textContent = `${left} of ${rows.length} rows`;
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form.filter");
  if (form) filterTable(form);
});
document.addEventListener("submit", (event) => event.preventDefault());
