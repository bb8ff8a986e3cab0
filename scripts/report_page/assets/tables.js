// Filters of tables: words that a row must have, and choices for some of its columns.
function filterTable(form) {
  const table = byId(form.dataset.table);
  const words = form.querySelector(".find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const choices = [...form.querySelectorAll("select")].filter((select) => select.value).map((select) => [select.dataset.column, select.value]);
  const rows = [...table.tBodies[0].rows];
  let count = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word)) && choices.every(([column, value]) => row.cells[column].dataset.choice === value);
    row.hidden = !fits;
    count += fits;
  }
  form.querySelector("output").textContent = `${count} of ${rows.length} rows`;
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form.filter");
  if (form) filterTable(form);
});
document.addEventListener("submit", (event) => event.preventDefault());
