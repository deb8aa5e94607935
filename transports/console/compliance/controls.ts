import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { words } from "#transports/console/values.ts";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { ledgerSection } from "./ledger.ts";

export const PART = "/console/compliance";

interface Control {
  name: string;
  law: string;
  rule: string;
  rows: { table: string; id: string | null; words: string; source: string | null }[];
  enforced: string[];
  tested: string[];
}

/** From each law to its rule, the rows that hold here, the code that enforces it, and the tests. */
export async function compliancePage(desk: Desk): Promise<Response> {
  const { controls } = await desk.run<{ controls: Control[] }>("list_compliance_controls");
  const content = html`<p>${say().compliance.eachRuleDataThisProperty} <a href="/docs/compliance">${say().compliance.theGuideToCompliance}</a>.</p><nav class="jump" aria-label="${say().general.rules}">${controls.map(({ name }) => html`<a href="#${name}">${words(name)}</a>`)}<a href="#ledgers">${say().compliance.ledgers}</a></nav>${controls.map(controlSection)}${await ledgerSection(desk, PART)}`;
  return consolePage(desk, { part: PART, heading: say().compliance.compliance, content });
}

function controlSection({ name, law, rule, rows, enforced, tested }: Control): Html {
  return html`<section class="control" id="${name}"><h2>${words(name)}</h2><dl class="chain"><div><dt>${say().compliance.law}</dt><dd>${inEnglish(law)}</dd></div><div><dt>${say().compliance.rule}</dt><dd>${inEnglish(rule)}</dd></div><div><dt>${say().compliance.rowsHere}</dt><dd>${rowsOf(rows)}</dd></div><div><dt>${say().compliance.enforcedBy}</dt><dd>${files(enforced)}</dd></div><div><dt>${say().compliance.testedBy}</dt><dd>${files(tested)}</dd></div></dl></section>`;
}

function rowsOf(rows: Control["rows"]): Html {
  if (rows.length === 0) return html`<p class="soft">${say().compliance.noneSetSoThisRule}</p>`;
  return html`<ul>${rows.map(
    ({ table, id, words: text, source }) =>
      html`<li>${id === null ? shortened(text) : html`<a href="/console/records/${table}/${id}">${inEnglish(text)}</a>`}${source ? html` <span class="soft">${inEnglish(source)}</span>` : ""}</li>`,
  )}</ul>`;
}

const MOST_SHOWN = 240;

/** A list of words can be long: it opens. */
function shortened(text: string): Html | string {
  if (text.length <= MOST_SHOWN) return inEnglish(text);
  return html`<details><summary>${inEnglish(`${text.slice(0, MOST_SHOWN).toWellFormed()}…`)}</summary>${inEnglish(text)}</details>`;
}

function files(paths: readonly string[]): Html {
  return html`<ul>${paths.map((path) => html`<li><code>${path}</code></li>`)}</ul>`;
}
