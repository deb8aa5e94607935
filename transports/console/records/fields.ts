import { html } from "hono/html";
import { shown, words } from "#transports/console/values.ts";
import { counted, inEnglish, language, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** A field of a record. In another language its own name stands beside the label: programs know it by that. */
export function fieldName(name: string): Html | string {
  if (language() === "en") return words(name);
  if (!Object.hasOwn(say().labels, name)) return inEnglish(words(name));
  return html`${words(name)} <code lang="en">${name}</code>`;
}

/** All fields of a record; those without a value are folded away. */
export function fieldsOf(row: Readonly<Record<string, unknown>>, timezone: string): Html {
  const [filled, empty] = [true, false].map((wanted) =>
    Object.entries(row).filter(([, value]) => isFilled(value) === wanted),
  );
  const list = html`<dl class="fields">${filled!.map(([name, value]) => html`<div${isObject(value) && size(value) > WIDE ? html` class="whole"` : ""}><dt>${fieldName(name)}</dt><dd>${within(value, timezone, name)}</dd></div>`)}</dl>`;
  if (empty!.length === 0) return list;
  return html`${list}<details><summary>${say().general.withoutAValue(counted(empty!.length, "field"))}</summary><p class="soft">${empty!.map(([name]) => words(name)).join(", ")}</p></details>`;
}

/** Longer values get a row of their own. */
const WIDE = 120;
/** A longer or deeper value is a definition, which people read as it was written. */
const LONGEST = 1_200;
const DEEPEST = 3;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const size = (value: object) => JSON.stringify(value).length;

function isFilled(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length > 0;
  return value !== null && value !== undefined && value !== "";
}

/** A value with the values inside of it, each under its name. */
function within(value: unknown, timezone: string, column: string, depth = 0): Html | string {
  const isFlat = !isObject(value) || (Array.isArray(value) && !value.some(isObject));
  if (isFlat || !isFilled(value)) return shown(isFilled(value) ? value : null, timezone, column);
  if (depth >= DEEPEST || size(value) > LONGEST) return written(value, column);
  if (Array.isArray(value)) {
    return html`<ol class="inner">${value.map((one) => html`<li>${within(one, timezone, column, depth + 1)}</li>`)}</ol>`;
  }
  return html`<dl class="inner">${Object.entries(value).map(([name, one]) => html`<div><dt>${fieldName(name)}</dt><dd>${within(one, timezone, name, depth + 1)}</dd></div>`)}</dl>`;
}

function written(value: object, column: string): Html {
  const names = Array.isArray(value) ? value.length : Object.keys(value).length;
  return html`<details><summary>${counted(names, Array.isArray(value) ? "entry" : "field")}</summary><pre class="call" tabindex="0" role="region" aria-label="${words(column)}">${JSON.stringify(value, null, 2)}</pre></details>`;
}
