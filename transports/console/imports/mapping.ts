import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { type Filled, formOf, input, type Option, select, tried } from "#transports/console/fields.ts";
import { consolePage, tableOf } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { term } from "#transports/console/terms.ts";
import { count, words } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";

interface Column {
  name: string;
  field: string | null;
  examples: string[];
}

interface FileRead {
  filename: string | null;
  size: number;
  delimiter: string;
  encoding: string;
  columns: Column[];
  fields: string[];
}

/** The columns of an uploaded file, and the field that each fills. */
export async function mappingPage(desk: Desk, filled: Filled = { values: {} }): Promise<Response> {
  const upload_id = desk.c.req.param("upload")!;
  const file = await desk.run<FileRead>("read_import_file", { upload_id });
  const options: Option[] = [
    ["", "Leave out"],
    ...file.fields.map((name): Option => [name, fieldWords(name)]),
  ];
  const rows = file.columns.map((column, index) => columnRow(column, index, options, filled));
  const about = html`<p class="soft">${file.filename ?? "The file"}, ${count(Math.ceil(file.size / 1024))} kB, ${file.encoding}, cells apart by ${file.delimiter === "\t" ? "tabs" : file.delimiter}.</p>`;
  const conflict: Option[] = [
    ["overwrite", "Take the file's values"],
    ["fill_blanks", "Fill only what is empty"],
    ["skip", "Leave the player as they are"],
  ];
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: "Imports" },
    heading: "What each column is",
    content: formOf(desk, {
      action: `${PART}/files/${upload_id}`,
      filled,
      kind: "bare",
      content: html`${about}${tableOf("Columns", ["Column", "Examples", "Field"], rows, html``)}<fieldset class="form"><legend>Evidence of ${term("consent", "consents")}</legend><p class="soft">A yes in a consent column counts only with its source, and with the text or its version.</p><div class="row">${input(filled, { name: "consentSource", label: "Source", most: 200, placeholder: "club desk" })}${input(filled, { name: "consentVersion", label: "Version of the text", most: 100, placeholder: "2026-01" })}</div>${input(filled, { name: "consentText", label: "Text that they agreed to", most: 10_000, placeholder: "I agree to receive offers by email." })}</fieldset><fieldset class="form"><legend>Players who are there already</legend><div class="row">${select(filled, { name: "on_conflict", label: "Their values", options: conflict })}${input(filled, { name: "tags", label: "Tags for all of the file", most: 500, placeholder: "summer, expo" })}</div></fieldset><div class="acts"><button>Dry run</button></div>`,
    }),
  });
}

/** Starts the dry run of the file with the mapping of the form. */
export function startDryRun(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      const columns = [...form.keys()].flatMap((name) => /^column\.(\d+)$/.exec(name)?.[1] ?? []);
      const mapping = Object.fromEntries(
        columns.map((index) => [form.get(`column.${index}`)!, form.get(`field.${index}`) || null]),
      );
      const consent = consentIn(form);
      const tags = (form.get("tags") ?? "").split(",").map((tag) => tag.trim());
      const job = await desk.once("create_import_job", {
        upload_id: desk.c.req.param("upload"),
        dry_run: true,
        mapping,
        on_conflict: form.get("on_conflict") ?? "overwrite",
        tags: tags.filter((tag) => tag !== ""),
        ...(consent && { consent }),
      });
      return redirect(`${PART}/${job.id}`);
    },
    (fault) => mappingPage(desk, { values: form, fault }),
  );
}

function consentIn(form: URLSearchParams): Row | null {
  const names = ["consentSource", "consentVersion", "consentText"];
  const given = names.map((name) => [name, form.get(name)?.trim() ?? ""] as const);
  const filled = given.filter(([, text]) => text !== "");
  return filled.length === 0 ? null : Object.fromEntries(filled);
}

function columnRow(column: Column, index: number, options: readonly Option[], { values }: Filled): Html {
  const chosen = values instanceof URLSearchParams ? values.get(`field.${index}`) : column.field;
  const name = `field.${index}`;
  return html`<tr><th scope="row"><label for="${name}">${column.name || "(no name)"}</label><input type="hidden" name="column.${index}" value="${column.name}"></th><td class="soft">${column.examples.join(", ")}</td><td><select id="${name}" name="${name}">${options.map(([value, text]) => html`<option value="${value}"${value === (chosen ?? "") ? html` selected` : ""}>${text}</option>`)}</select></td></tr>`;
}

function fieldWords(name: string): string {
  const [family, key] = name.split(".");
  if (family === "consent") return `Consent for ${key}`;
  if (family === "custom" && key) return `Own field: ${words(key)}`;
  return name === "adt" ? "ADT" : words(name);
}
