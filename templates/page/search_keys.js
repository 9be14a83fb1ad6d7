// The keys of a page's search, the same on every page: `/` goes to it, ArrowDown into what it
// found, Enter opens the first.

/** @param {HTMLInputElement} field
 * @param {() => HTMLElement[]} found links or buttons, in order
 * @param {() => void} [open] the first */
export function searchByKeys(field, found, open = () => found()[0]?.click()) {
  field.form?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value) open();
  });
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const writes = target instanceof HTMLInputElement && target.type !== "checkbox";
    if (key === "/" && !writes && !(target instanceof HTMLSelectElement)) {
      if (!field.checkVisibility()) return;
      event.preventDefault();
      field.focus();
      field.select();
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1;
      const line = [field, ...found()];
      const here = line.findIndex((one) => one === target);
      const next = line[here + step];
      if (here < 0 || !next) return;
      event.preventDefault();
      next.focus();
    }
  });
}
