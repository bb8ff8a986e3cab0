// Copies the line beside the button. The older way is for browsers that keep the clipboard from files.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const copied = await copyText(button.parentElement.querySelector("code").textContent);
  button.textContent = copied ? "Copied" : "Not copied";
  button.classList.toggle("failed", !copied);
  button.focus();
  setTimeout(() => { button.textContent = "Copy"; button.classList.remove("failed"); }, 2000);
});
