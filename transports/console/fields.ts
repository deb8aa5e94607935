import { html } from "hono/html";
import { Fault, toFault } from "#runtime/faults.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { faultText, tokenField } from "./frame.ts";
import { inEnglish } from "./words/say.ts";

/** The values of a form, and the fault of the last try. */
export interface Filled {
  values: Readonly<Record<string, unknown>> | URLSearchParams;
  fault?: Fault | undefined;
}

interface Field {
  name: string;
  label: string | Html;
  hint?: string | Html;
  isRequired?: boolean;
}

/** One line of text, a number, a date, a colour. */
export function input(
  filled: Filled,
  field: Field & { type?: string; most?: number; list?: string; placeholder?: string },
): Html {
  const { name, type = "text", most, isRequired = false, list, placeholder } = field;
  const extra = html`${most === undefined ? "" : html` maxlength="${most}"`}${isRequired ? html` required` : ""}${list === undefined ? "" : html` list="${list}"`}${placeholder === undefined ? "" : html` placeholder="${placeholder}"`}`;
  return framed(
    filled,
    field,
    (marks) =>
      html`<input id="${name}" name="${name}" type="${type}" value="${valueIn(filled, name)}"${extra}${marks}${type === "number" ? html` step="any"` : ""}>`,
  );
}

/** A text of several lines. */
export function area(filled: Filled, field: Field & { rows?: number; isCode?: boolean }): Html {
  const { name, rows = 6, isCode = false, isRequired = false } = field;
  return framed(
    filled,
    field,
    (marks) =>
      html`<textarea id="${name}" name="${name}" rows="${rows}"${isCode ? html` class="code" spellcheck="false"` : ""}${isRequired ? html` required` : ""}${marks}>${valueIn(filled, name)}</textarea>`,
  );
}

export type Option = readonly [value: string, text: string];

/** One of several. */
export function select(filled: Filled, field: Field & { options: readonly Option[] }): Html {
  const { name, options, isRequired = false } = field;
  const chosen = valueIn(filled, name);
  return framed(
    filled,
    field,
    (marks) =>
      html`<select id="${name}" name="${name}"${isRequired ? html` required` : ""}${marks}>${options.map(([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : ""}>${text}</option>`)}</select>`,
  );
}

/** Yes or no. */
export function tick(filled: Filled, { name, label, hint }: Field): Html {
  const isOn = ["yes", "true", "on"].includes(valueIn(filled, name));
  return html`<div class="tick"><input type="checkbox" id="${name}" name="${name}" value="yes"${isOn ? html` checked` : ""}><label for="${name}">${label}</label>${hint !== undefined ? html`<p class="hint">${hint}</p>` : ""}</div>`;
}

/** A form that posts to one of our pages, with the fault of the last try at its top. */
export function formOf(
  desk: Desk,
  { action, filled, content, kind = "" }: { action: string; filled: Filled; content: Html; kind?: string },
): Html {
  const { fault } = filled;
  return html`<form method="post" action="${action}" class="form ${kind}"${kind.includes("builder") ? html` data-shows` : ""}>${tokenField(desk)}${onceField()}${fault ? faultText(fault) : ""}${content}</form>`;
}

/** The same form sent twice does its work once. */
export function onceField(): Html {
  return html`<input type="hidden" name="once" value="${crypto.randomUUID()}">`;
}

/**
 * The version of the record that the page shows: a form is refused where the record has another one by then. The time
 * of the last change stands for the version of a record without one.
 */
export function versionField({ version: counted, updated_at }: Row): Html | "" {
  const version = counted ?? updated_at;
  return version === undefined ? "" : html`<input type="hidden" name="version" value="${version}">`;
}

/** The shown version, as operations take it. */
export function versionIn(form: URLSearchParams): { version?: number } {
  return form.has("version") ? { version: Number(form.get("version")) } : {};
}

/** The fingerprint of the campaign that the page has checked, as operations take it. */
export function fingerprintIn(form: URLSearchParams): { fingerprint?: string } {
  const fingerprint = form.get("fingerprint");
  return fingerprint === null ? {} : { fingerprint };
}

/** Throws `conflict` where the record has another version than the one that the form's page shows. */
export function checkSeen({ form }: Desk, { version, updated_at }: Row): void {
  const [seen, now] = [form.get("version"), String(version ?? updated_at)];
  if (seen === null || seen === now) return;
  const message = `is ${now} now, and the page shows ${seen}`;
  throw new Fault("conflict", { message, details: [{ field: "version", message }] });
}

/** A button that does one thing by itself. */
export function actButton(
  desk: Desk,
  action: string,
  text: string,
  kind = "quiet",
  fields: Html | "" = "",
): Html {
  return html`<form method="post" action="${action}">${tokenField(desk)}${onceField()}${fields}<button class="${kind} small">${text}</button></form>`;
}

/** A button that shows first what will happen. */
export function askButton(
  desk: Desk,
  ask: {
    action: string;
    text: string;
    question: string | Html;
    yes: string;
    kind?: string;
    fields?: Html | "";
  },
): Html {
  const { action, text, question, yes, kind = "grave", fields = "" } = ask;
  return html`<details class="ask${kind === "" ? " main" : ""}"><summary>${text}…</summary><div class="asked"><p>${question}</p>${actButton(desk, action, yes, kind, fields)}</div></details>`;
}

/** Runs the work of a form. A fault that the person can mend shows the form again, with what they have written. */
export async function tried(
  work: () => Promise<Response>,
  again: (fault: Fault) => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    const fault = toFault(error);
    if (fault.status === 403 || fault.status >= 500) throw fault;
    const shown = await again(fault);
    return new Response(shown.body, { status: fault.status, headers: shown.headers });
  }
}

/** The texts of a form: an empty one is null, which takes a value away. */
export function textsOf(form: URLSearchParams, names: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(
    names
      .filter((name) => form.has(name))
      // Browsers send a text's lines with CR LF.
      .map((name) => [name, (form.get(name) ?? "").replaceAll("\r\n", "\n").trim() || null]),
  );
}

function valueIn({ values }: Filled, name: string): string {
  const value = values instanceof URLSearchParams ? values.get(name) : values[name];
  return value === null || value === undefined ? "" : String(value);
}

function framed({ fault }: Filled, { name, label, hint }: Field, control: (marks: Html) => Html): Html {
  const wrong = fault?.details?.find(({ field }) => field === name);
  const isHinted = hint !== undefined && hint !== "";
  const described = [isHinted && `${name}-hint`, wrong && `${name}-wrong`].filter(Boolean).join(" ");
  const marks = html`${described ? html` aria-describedby="${described}"` : ""}${wrong ? html` aria-invalid="true"` : ""}`;
  return html`<div class="field"><label for="${name}">${label}</label>${control(marks)}${isHinted ? html`<p class="hint" id="${name}-hint">${hint}</p>` : ""}${wrong ? html`<p class="error" id="${name}-wrong">${inEnglish(wrong.message)}</p>` : ""}</div>`;
}
