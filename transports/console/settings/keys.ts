import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  askButton,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  tick,
  tried,
} from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip, shown, timeOf } from "#transports/console/values.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import { count, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART, settingPage } from "./settings.ts";

/** The keys of the property. `secret` is a new one's, shown on this page alone. */
export async function keysPage(
  desk: Desk,
  filled: Filled = { values: { rate_limit: "100", scope: "write" } },
  secret?: string,
): Promise<Response> {
  const { keys } = await desk.run<{ keys: Row[] }>("list_api_keys");
  const lines = keys.map(rowOf(desk));
  const head = [
    say().settings.key,
    say().settings.beginsWith,
    say().settings.may,
    numbers(say().settings.aMinute),
    say().settings.personalData,
    say().settings.lastUsed,
    say().settings.ends,
    say().settings.change,
  ];
  const scopes: Option[] = [
    ["read", say().settings.read],
    ["write", say().settings.readAndWrite],
  ];
  const form = desk.canWrite
    ? html`<h2>${say().settings.newKey}</h2>${formOf(desk, {
        action: `${PART}/keys`,
        filled,
        kind: "narrow",
        content: html`${input(filled, { name: "name", label: say().general.name, isRequired: true, most: 200, hint: say().settings.programOrAgentThatWill })}<div class="row">${select(filled, { name: "scope", label: say().settings.may, options: scopes })}${input(filled, { name: "rate_limit", label: say().settings.requestsAMinute, type: "number", isRequired: true })}</div>${tick(filled, { name: "pii_masked", label: say().settings.maskPersonalDataFromAgents, hint: say().settings.overMcpAddressesNamesAnd })}<div class="acts"><button>${say().settings.makeTheKey}</button></div>`,
      })}`
    : "";
  const made = secret
    ? html`<div class="said" role="status"><p>${say().settings.newKeyShownThisOnce}</p><code class="secret" tabindex="0">${secret}</code></div>`
    : "";
  const empty = html`<p>${say().settings.thereNoKeyProgramsAnd} <a href="/docs/agents">${say().approvals.theGuideToAgents}</a></p>`;
  return settingPage(
    desk,
    "keys",
    html`${made}${tableOf(say().settings.apiKeys, head, lines, empty)}${form}`,
  );
}

/** Makes a key, and shows its secret once. */
export function createKey(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      const { api_key } = await desk.once<{ api_key?: string }>("create_api_key", {
        name: form.get("name") ?? "",
        scopes: form.get("scope") === "read" ? ["read"] : ["read", "write"],
        rate_limit: Number(form.get("rate_limit")),
        pii_masked: form.get("pii_masked") === "yes",
      });
      return keysPage(desk, undefined, api_key ?? say().settings.wasShownAlreadyRevokeAnd);
    },
    (fault) => keysPage(desk, { values: form, fault }),
  );
}

export async function revokeKey(desk: Desk): Promise<Response> {
  await desk.run("revoke_api_key", { key_id: desk.c.req.param("id") });
  return redirect(`${PART}/keys`);
}

function rowOf(desk: Desk) {
  const { timezone } = desk.property;
  return (row: Row): Html => {
    const revoke =
      desk.canWrite && row.is_active
        ? askButton(desk, {
            action: `${PART}/keys/${row.id}/revoke`,
            text: say().settings.revoke,
            question: say().settings.programsThatUseAreRefused,
            yes: say().settings.revokeTheKey,
          })
        : "";
    return html`<tr><th scope="row">${row.name} ${row.is_active ? "" : chip("revoked")}</th><td><code>${row.key_prefix}</code></td><td>${(row.scopes as string[]).join(", ")}</td><td class="number">${count(Number(row.rate_limit))}</td><td>${row.pii_masked ? say().settings.maskedFromAgents : say().settings.isWhole}</td><td>${row.last_used_at ? timeOf(String(row.last_used_at), timezone) : say().settings.never}</td><td>${shown(row.expires_at, timezone)}</td><td>${revoke}</td></tr>`;
  };
}
