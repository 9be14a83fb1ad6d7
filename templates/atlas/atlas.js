// The pages of an atlas: the index with its search, and the page of a cell.

import { at, element, fill, visible } from "../page/elements.js";
import { searchByKeys } from "../page/search_keys.js";
import { bannerLine, link } from "./atlas_cells.js";
import { atlas, held, loadAtlas } from "./atlas_data.js";
import { cellParts } from "./cell_line.js";
import { searched, seriesParts, sourcesParts } from "./releases.js";

const atlasField = at("atlas-find", HTMLInputElement);

/** Leave the rows that the search names. */
function leaveNamed() {
  const wanted = atlasField.value.toLowerCase();
  let shown = 0;
  for (const [row, text] of searched) {
    row.hidden = !text.includes(wanted);
    shown += Number(!row.hidden);
  }
  const url = new URL(location.href);
  if (wanted) url.searchParams.set("find", wanted);
  else url.searchParams.delete("find");
  if (url.href !== location.href) history.replaceState(null, "", url);
  at("atlas-status").textContent = wanted ? `${shown} of ${searched.size} rows` : "";
}

/** @param {string[]} texts */
function sentencesLine(texts) {
  const made = element("p", "", "sentences");
  made.append(...texts.map((one) => element("span", one)));
  return made;
}

function showIndex() {
  const { sentences, sources, remarks } = atlas();
  const [first, ...others] = sentences.length
    ? sentences
    : ["No release can be compared with another one."];
  at("atlas-head").append(
    element("h1", first),
    sentencesLine(others),
    ...bannerLine(),
  );
  const noises = sources.filter(({ noise }) => noise).map(({ name, noise }) => `${name}: ${noise}`);
  fill("atlas-told", "li", [...noises, ...remarks]);
  at("atlas-body").append(...seriesParts(), ...sourcesParts());
  atlasField.value = new URLSearchParams(location.search).get("find") ?? "";
  atlasField.addEventListener("input", leaveNamed);
  searchByKeys(atlasField, () => [...searched.keys()]
    .filter((row) => !row.hidden && row.checkVisibility())
    .flatMap((row) => [...row.querySelectorAll("a")].slice(0, 1)));
  leaveNamed();
}

async function startAtlas() {
  await loadAtlas();
  document.title = visible(held.cell ? `profdiff: ${held.cell}` : "profdiff: atlas");
  at("atlas-search").hidden = Boolean(held.cell);
  if (held.cell) at("atlas-head").append(...cellParts());
  else showIndex();
  at("atlas-made").append(
    visible(`profdiff ${atlas().profdiff}. The same as JSON: `),
    link(held.json, held.json.split("/").slice(-1)[0]),
  );
  // What the address names was not there yet.
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  document.documentElement.dataset.ready = "yes";
}

startAtlas().catch((error) => {
  at("atlas-head").textContent = `This atlas cannot be shown: ${visible(error)}`;
  throw error;
});
