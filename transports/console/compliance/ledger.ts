import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { shown, words } from "#transports/console/values.ts";
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
    return html`<section class="control screen" id="ledgers"><h2>Ledgers</h2><p>The seals show whether anybody has changed, removed or added a row outside the service.</p><p><a class="button small" href="${path}?verify=1#ledgers">Verify the ledgers now</a></p></section>`;
  }
  const { intact, ledgers } = await desk.run<Verified>("verify_ledger", { fromSeal: from });
  const next = Math.max(...ledgers.map(({ next_seal }) => next_seal ?? 0));
  const verdict = intact
    ? html`<p class="said" role="status">Intact: every row and seal that was checked is as it was written.</p>`
    : html`<p class="wrong" role="alert">A row or a seal is not as it was written.</p>`;
  const rows = ledgers.map(
    ({ ledger, seals, first }) =>
      html`<li>${words(ledger)}: ${seals} seals checked. ${first === null ? "No flaw." : html`${first.meaning} ${first.seal === null ? "" : `Seal ${first.seal}.`} ${first.row_id ?? ""}`}</li>`,
  );
  return html`<section class="control" id="ledgers"><h2>Ledgers</h2>${verdict}<ul>${rows}</ul>${next > 0 ? html`<p><a class="button small" href="${path}?verify=${next}#ledgers">Verify the next seals, from ${next}</a></p>` : ""}<p class="soft">Checked ${shown(new Date().toISOString(), desk.property.timezone)}, from seal ${from}.</p></section>`;
}
