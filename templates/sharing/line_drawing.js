// A line of the cache as a strip of bytes, with what lies in it and which vCPUs read and write it.

import { element, visible } from "../page/elements.js";
import { vcpuList } from "./shared.js";

/** @import { DrawnLine, LineField } from "../page.d.ts" */

/** How many bytes stand beside each other, by the room there is: [pixels, bytes]. */
const ROOMS = [[560, 16], [1000, 32]];
const MOST_BYTES = 64;
/** What is marked with its number below the strip. */
const MARK = 8;
/** vCPUs with a colour of their own. */
const COLOURED = 2;
/** What is accessed less often in an operation is drawn as such. */
const RARE = 0.01;

const roomQueries = ROOMS.map(([pixels, bytes]) => ({
  query: matchMedia(`(max-width: ${pixels}px)`), bytes,
}));

/** @param {() => void} draw again, as the room has changed */
export function onOtherRoom(draw) {
  for (const { query } of roomQueries) query.addEventListener("change", draw);
}

/** How many bytes of a line stand beside each other. @param {number} size of the line */
function bytesBeside(size) {
  const narrow = roomQueries.find(({ query }) => query.matches);
  return Math.min(narrow?.bytes ?? MOST_BYTES, size);
}

/** What a vCPU does with a field: `r`, `w`, `rw` or nothing.
 * @param {LineField} field @param {number} vcpu */
const doesOf = ({ loads, stores }, vcpu) =>
  (loads[vcpu] ? "r" : "") + (stores[vcpu] ? "w" : "");

/** vCPUs by what they do. @param {LineField} field @returns {[string, number[]][]} */
function whoOf(field) {
  return ["rw", "w", "r"].flatMap((does) => {
    const some = field.loads.flatMap((_, vcpu) => (doesOf(field, vcpu) === does ? [vcpu] : []));
    /** @type {[string, number[]][]} */
    const made = some.length ? [[does, some]] : [];
    return made;
  });
}

/** Its signs: `0+1 rw`. @param {LineField} field */
export const whoSigns = (field) =>
  whoOf(field).map(([does, some]) => `${vcpuList(some)} ${does}`).join(", ");

/** The same in words. @param {LineField} field */
function whoWords(field) {
  const words = new Map([["rw", "read and written"], ["w", "written"], ["r", "read"]]);
  return whoOf(field).map(([does, some]) =>
    `${words.get(does)} by vCPU${some.length > 1 ? "s" : ""} ${vcpuList(some)}`).join(", ");
}

/** The last byte, too. @param {LineField} field */
export const bytesText = ({ offset, size }) =>
  size === 1 ? `${offset}` : `${offset}-${offset + size - 1}`;

/** @param {LineField} field */
const fieldTitle = (field) =>
  `Byte${field.size > 1 ? "s" : ""} ${bytesText(field)}: ${field.name || "data without a name"}, ${
    whoWords(field)}`;

/** The colour of who accesses a field, and a pattern where somebody writes it.
 * @param {LineField} field @param {number} ops of all vCPUs, 0 if they are not known */
function fieldClass(field, ops) {
  const times = [...field.loads, ...field.stores].reduce((sum, one) => sum + one, 0);
  const some = whoOf(field).flatMap(([, vcpus]) => vcpus);
  const who = some.length > 1 ? "many" : some[0] < COLOURED ? `${some[0]}` : "other";
  const written = field.stores.some(Boolean) ? " written" : "";
  return `field who-${who}${written}${times < RARE * ops ? " rare" : ""}`;
}

/** What all names have in front, as `file.`: it stands in the caption once.
 * @param {LineField[]} fields */
function commonType(fields) {
  const types = new Set(fields.flatMap(({ name }) => {
    const at = name.indexOf(".");
    return name ? [at > 0 ? name.slice(0, at + 1) : ""] : [];
  }));
  const [only] = types;
  return types.size === 1 ? only : "";
}

/** Fields that overlap lie below each other: the number of each one's lane.
 * @param {LineField[]} fields */
function fieldLanes(fields) {
  /** @type {number[]} */
  const ends = [];
  return fields.map(({ offset, size }) => {
    const free = ends.findIndex((end) => end <= offset);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = offset + size;
    return lane;
  });
}

/** The bytes from `start` on. `of`: the line's fields, each one's lane, and what all names have in
 * front. @param {{fields: LineField[], lanes: number[], type: string, ops: number}} of
 * @param {number} start @param {number} bytes */
function stripOf({ fields, lanes, type, ops }, start, bytes) {
  const strip = element("div", "", "strip");
  strip.style.setProperty("--bytes", String(bytes));
  strip.style.gridTemplateColumns = `repeat(${bytes}, minmax(0, 1fr))`;
  const deepest = Math.max(0, ...lanes);
  for (const [n, field] of fields.entries()) {
    const from = Math.max(field.offset, start);
    const to = Math.min(field.offset + field.size, start + bytes);
    if (from >= to) continue;
    const box = element("span", "", fieldClass(field, ops));
    box.style.gridColumn = `${from - start + 1} / span ${to - from}`;
    box.style.gridRow = String(lanes[n] + 1);
    box.title = visible(fieldTitle(field));
    const name = field.name.startsWith(type) ? field.name.slice(type.length) : field.name;
    box.append(element("b", name || "?"), element("small", whoSigns(field)));
    strip.append(box);
  }
  if (!strip.childElementCount) strip.classList.add("empty");
  for (let byte = 0; byte < bytes; byte += MARK) {
    const mark = element("span", start + byte, "mark");
    mark.style.gridColumn = `${byte + 1} / span ${Math.min(MARK, bytes - byte)}`;
    mark.style.gridRow = String(deepest + 2);
    strip.append(mark);
  }
  return strip;
}

/** A line with its fields, as a picture whose words say the same.
 * @param {DrawnLine} line @param {string} label of the kernel @param {number} ops of it, 0 if they
 * are not known */
export function lineDrawing({ fields, size }, label, ops) {
  const picture = element("div", "", "line-drawing");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", visible(
    `Line of ${size} bytes on ${label}. ${fields.map(fieldTitle).join(". ")}.`));
  const of = { fields, lanes: fieldLanes(fields), type: commonType(fields), ops };
  const bytes = bytesBeside(size);
  for (let start = 0; start < size; start += bytes) {
    const beside = Math.min(bytes, size - start);
    picture.append(stripOf(of, start, beside));
  }
  return picture;
}

/** What colours, patterns and signs mean.
 * @param {number} vcpus @param {boolean} perOp whether operations are known */
export function lineKeys(vcpus, perOp) {
  const keys = element("p", "", "line-keys");
  const add = (/** @type {string} */ className, /** @type {string} */ text) => {
    const key = element("span");
    key.append(element("i", "", className), element("span", text));
    keys.append(key);
  };
  for (let vcpu = 0; vcpu < Math.min(vcpus, COLOURED); vcpu++) {
    add(`field who-${vcpu}`, `vCPU ${vcpu}`);
  }
  if (vcpus > COLOURED) add("field who-other", "another vCPU alone");
  add("field who-many", vcpus > 2 ? "several vCPUs" : "both vCPUs");
  add("field plain written", "hatched below: written; plain: only read");
  if (perOp) add("field plain rare", "broken: less than once in 100 operations");
  keys.append(element("span", "0 rw: vCPU 0 reads and writes"));
  return keys;
}
