// The index of an atlas: a search leaves the cells that it names.

import { at } from "./elements.js";
import { searchByKeys } from "./search_keys.js";

const rows = [...document.querySelectorAll("tr[data-find]")];

function leaveNamed() {
  const wanted = at("atlas-find", HTMLInputElement).value.toLowerCase();
  let shown = 0;
  for (const row of rows) {
    const named = (row.getAttribute("data-find") ?? "").toLowerCase().includes(wanted);
    row.toggleAttribute("hidden", !named);
    shown += Number(named);
  }
  const url = new URL(location.href);
  if (wanted) url.searchParams.set("find", wanted);
  else url.searchParams.delete("find");
  if (url.href !== location.href) history.replaceState(null, "", url);
  at("atlas-status").textContent = wanted ? `${shown} of ${rows.length} rows` : "";
}

const field = at("atlas-find", HTMLInputElement);
field.value = new URLSearchParams(location.search).get("find") ?? "";
field.addEventListener("input", leaveNamed);
searchByKeys(field, () =>
  rows.filter((row) => !row.hasAttribute("hidden") && row.checkVisibility())
    .flatMap((row) => [...row.querySelectorAll("a")].slice(0, 1)));
leaveNamed();
document.documentElement.dataset.ready = "yes";
