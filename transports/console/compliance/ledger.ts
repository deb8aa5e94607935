import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { shown, words } from "#transports/console/values.ts";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

interface Verified {
  intact: boolean;
  ledgers: {
    ledger: string;
    intact: boolean;
    seals: number;
    next_seal: number | null;
    first: { meaning: string; row_id: string | null; seal: number | null } | null;
  }[];
}

/** Verifies the ledgers where the person asks for it: it reads each sealed row again. */
export async function ledgerSection(desk: Desk, path: string): Promise<Html> {
  const from = Number(desk.c.req.query("verify"));
  if (!Number.isInteger(from) || from < 1) {
    return html`<section class="control screen" id="ledgers"><h2>${say().compliance.ledgers}</h2><p>${say().compliance.sealsShowWhetherAnybodyHas}</p><p><a class="button small" href="${path}?verify=1#ledgers">${say().compliance.verifyTheLedgersNow}</a></p></section>`;
  }
  const { intact, ledgers } = await desk.run<Verified>("verify_ledger", { fromSeal: from });
  const next = Math.max(...ledgers.map(({ next_seal }) => next_seal ?? 0));
  const verdict = intact
    ? html`<p class="said" role="status">${say().compliance.intactEveryRowAndSeal}</p>`
    : html`<p class="wrong" role="alert">${say().compliance.rowOrSealNotAs}</p>`;
  const rows = ledgers.map(
    ({ ledger, seals, first }) =>
      html`<li>${say().compliance.sealsChecked(words(ledger), seals, first === null ? say().compliance.noFlaw : html`${inEnglish(first.meaning)} ${first.seal === null ? "" : say().compliance.sealNumber(first.seal)} ${first.row_id ?? ""}`)}</li>`,
  );
  return html`<section class="control" id="ledgers"><h2>${say().compliance.ledgers}</h2>${verdict}<ul>${rows}</ul>${next > 0 ? html`<p><a class="button small" href="${path}?verify=${next}#ledgers">${say().compliance.verifyNext(next)}</a></p>` : ""}<p class="soft">${say().compliance.checkedFrom(shown(new Date().toISOString(), desk.property.timezone), from)}</p></section>`;
}
