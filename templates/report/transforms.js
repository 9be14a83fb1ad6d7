// What the reader made of the stacks: which function is in focus, and which are hidden.

import { frameName, hiddenIds, idOf, keyOf } from "../profile/chosen.js";
import { at, button, clipped, element } from "../page/elements.js";
import { joined, state } from "../page/state.js";

/** @param {(to: {focus?: string, hide?: string}) => void} transformBy */
export function drawTransforms(transformBy) {
  const focus = idOf(state.focus);
  const hidden = hiddenIds();
  const chip = (/** @type {string} */ text, /** @type {() => void} */ undo) => {
    const made = button(`${text} ×`, "chip", undo);
    made.ariaLabel = `Undo: ${text}`;
    return made;
  };
  const name = (/** @type {number} */ id) => clipped(frameName(id), 60);
  at("transforms").hidden = focus < 0 && !hidden.length;
  at("transforms").replaceChildren(
    ...(focus < 0 ? [] : [
      chip(`only ${name(focus)} and what it calls`, () => transformBy({ focus: "" }))]),
    ...hidden.map((id) => chip(`without ${name(id)}`, () => transformBy({
      hide: joined(hidden.filter((other) => other !== id).map(keyOf)),
    }))),
    ...(hidden.length
      ? [element("span", "Counts of hidden functions go to their callers; where there is no " +
        "caller, they are left out.")] : []),
  );
}
