// Where things are kept while the page is open.
const byId = (id) => document.getElementById(id);
const shown = { details: null };  // what was unpacked of the record whose details are on the page

async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
