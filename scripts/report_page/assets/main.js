// Details of one record at a time: those of the first are on the page already, others are put in their place.
async function showRecord(digest, replace) {
  const details = await unpack(`record-${digest}`);
  forgetPlots();
  shown.details = details;
  if (replace) {
    byId("record").innerHTML = details.html;
    byId("links").innerHTML = details.links;
  }
  document.body.dataset.shown = digest;
  drawSamples();
  watchPlots();
}

document.addEventListener("change", (event) => {
  if (event.target.id === "samples-trial") drawSamples();
  if (event.target.id === "choose-record") showRecord(event.target.value, true);
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.show-record");
  if (!button) return;
  byId("choose-record").value = button.dataset.record;
  await showRecord(button.dataset.record, true);
  byId("details").scrollIntoView();
});

showRecord(document.body.dataset.shown, false).then(startSeries).then(() => performance.mark("ready"));
