import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { type Filled, formOf, input, type Option, select, tried } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { term } from "#transports/console/terms.ts";
import { labelOf, words } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { count, say } from "#transports/console/words/say.ts";
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
    ["", say().imports.leaveOut],
    ...file.fields.map((name): Option => [name, fieldWords(name)]),
  ];
  const rows = file.columns.map((column, index) => columnRow(column, index, options, filled));
  const about = html`<p class="soft">${say().imports.fileRead(file.filename ?? say().imports.theFile, count(Math.ceil(file.size / 1024)), file.encoding, file.delimiter === "\t" ? say().imports.tabs : file.delimiter)}</p>`;
  const conflict: Option[] = [
    ["overwrite", say().imports.takeTheFilesValues],
    ["fill_blanks", say().imports.fillOnlyWhatEmpty],
    ["skip", say().imports.leavePlayerAsTheyAre],
  ];
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().imports.imports },
    heading: say().imports.whatEachColumnIs,
    content: formOf(desk, {
      action: `${PART}/files/${upload_id}`,
      filled,
      kind: "bare",
      content: html`${about}${tableOf(say().imports.columns, [say().general.column, say().imports.examples, say().imports.field], rows, html``)}<fieldset class="form"><legend>${say().imports.evidenceOf(term("consent", say().imports.consents))}</legend><p class="soft">${say().imports.yesInConsentColumnCounts}</p><div class="row">${input(filled, { name: "consentSource", label: say().general.source, most: 200, placeholder: say().imports.membershipForm })}${input(filled, { name: "consentVersion", label: say().imports.versionOfTheText, most: 100, placeholder: "2026-01" })}</div>${input(filled, { name: "consentText", label: say().imports.textThatTheyAgreedTo, most: 10_000, placeholder: say().imports.iAgreeToReceiveOffers })}</fieldset><fieldset class="form"><legend>${say().imports.playersWhoAreThereAlready}</legend><div class="row">${select(filled, { name: "on_conflict", label: say().imports.theirValues, options: conflict })}${input(filled, { name: "tags", label: say().imports.tagsForAllFile, most: 500, placeholder: say().imports.summerExpo })}</div></fieldset><div class="acts"><button>${say().imports.dryRun}</button></div>`,
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
  const chosen = values instanceof URLSearchParams ? values.get(`field.${index}`) : fieldOf(column, options);
  const name = `field.${index}`;
  return html`<tr><th scope="row"><label for="${name}">${column.name || say().imports.noName}</label><input type="hidden" name="column.${index}" value="${column.name}"></th><td class="soft">${column.examples.join(", ")}</td><td><select id="${name}" name="${name}">${options.map(([value, text]) => html`<option value="${value}"${value === (chosen ?? "") ? html` selected` : ""}>${text}</option>`)}</select></td></tr>`;
}

const CONSENT =
  /^(email|e-mail|mail|sms|text|phone|voice|push)[ _-]?(?:opt[ _-]?in|consent|permission|subscribed)/i;
const CHANNELS = new Map([
  ["e-mail", "email"],
  ["mail", "email"],
  ["text", "sms"],
  ["phone", "voice"],
]);

/** The field that a column seems to be. A consent is only proposed here, beside the evidence that it needs. */
function fieldOf({ name, field }: Column, options: readonly Option[]): string | null {
  const named = CONSENT.exec(name)?.[1]?.toLowerCase();
  const consent = named && `consent.${CHANNELS.get(named) ?? named}`;
  return field ?? options.find(([value]) => value === consent)?.[0] ?? null;
}

function fieldWords(name: string): string {
  const [family, key] = name.split(".");
  if (family === "consent") return say().general.consentFor(labelOf(key ?? ""));
  if (family === "custom" && key) return say().imports.ownField(words(key));
  return name === "adt" ? "ADT" : words(name);
}
