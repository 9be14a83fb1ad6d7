"use strict";
// Excerpts are fetched from the pages found, which no browser allows a page that is a file.
if (typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
}
// A narrow page begins with its text: the list of documents opens when it is asked for.
document.addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("#site-documents details");
  const wide = matchMedia("(min-width: 56rem)");
  const fit = () => { list.open = wide.matches; };
  wide.addEventListener("change", fit);
  fit();
  // What is wider than the page scrolls in itself, by keys too.
  for (const one of document.querySelectorAll("#site-text pre, #site-text .table")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
  }
  const here = document.querySelector("#site-documents .current > a");
  const room = document.querySelector("#site-documents");
  if (here && list.open) room.scrollTop = here.offsetTop - room.clientHeight / 2;
});
