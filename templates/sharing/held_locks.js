// What executes while locks are held that lie on lines which change hands.

import { element, heading } from "../page/elements.js";
import { count, fixed, signed } from "../page/numbers.js";
import { perOperation, sharedCount } from "./shared.js";

/** @import { HeldLock, PageSharing } from "../page.d.ts" */

/** @type {Record<HeldLock["mode"], string>} */
const HELD = { exclusive: "alone", shared: "with others" };

/** A lock's instructions on a kernel, their share of all, and the difference to the base.
 * @param {PageSharing} page @param {HeldLock} lock */
function lockNumbers(page, lock) {
  const [base] = page.kernels;
  return page.kernels.flatMap(({ label, ops, instructions }, n) => {
    const own = lock.instructions[label];
    const share = instructions ? `${fixed((100 * own) / instructions, 0)}%` : "";
    const cells = [
      element("td", sharedCount(page, label, own), "number"),
      element("td", share, "number optional"),
    ];
    if (!n) return cells;
    const theirs = lock.instructions[base.label];
    const delta = page.per_op ? own / ops - theirs / base.ops : own - theirs;
    const known = delta ? signed(delta, page.per_op ? perOperation : count) : "0";
    const told = lock.unsure.includes(label) ? "?" : known;
    return [...cells, element("td", told, "number")];
  });
}

/** The table, and what follows of it; nothing where no lock is held for long.
 * @param {PageSharing} page @param {(name: string) => HTMLElement} link */
export function heldLocks(page, link) {
  if (!page.locks.length) return [];
  const table = element("table", "", "accesses sharing");
  const head = element("tr");
  head.append(heading("col", "lock", "name"));
  page.kernels.forEach(({ label }, n) => {
    head.append(heading("col", label, "number"), heading("col", "share", "number optional"));
    if (n) head.append(heading("col", "delta", "number"));
  });
  head.append(heading("col", "held", "kind"), heading("col", "taken by", "what"));
  const top = element("thead");
  top.append(head);
  const body = element("tbody");
  for (const lock of page.locks) {
    const line = element("tr");
    const taker = element("td", "", "what");
    taker.append(lock.function ? link(lock.function) : element("span", "?"));
    line.append(
      heading("row", lock.name, "name"), ...lockNumbers(page, lock),
      element("td", HELD[lock.mode], "kind"), taker,
    );
    body.append(line);
  }
  const each = page.per_op ? ", per op" : "";
  const title = `The kernel's instructions while a lock on such a line is held${each}, and their ` +
    "share of all";
  table.append(element("caption", title), top, body);
  return [table, ...(page.bound ? [element("p", page.bound.replaceAll("`", ""))] : [])];
}
