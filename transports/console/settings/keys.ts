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
import { numbers, tableOf } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { chip, count, shown, timeOf } from "#transports/console/values.ts";
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
    "Key",
    "Begins with",
    "May",
    numbers("A minute"),
    "Personal data",
    "Last used",
    "Ends",
    "Change",
  ];
  const scopes: Option[] = [
    ["read", "Read"],
    ["write", "Read and write"],
  ];
  const form = desk.canWrite
    ? html`<h2>New key</h2>${formOf(desk, {
        action: `${PART}/keys`,
        filled,
        kind: "narrow",
        content: html`${input(filled, { name: "name", label: "Name", isRequired: true, most: 200, hint: "The program or agent that will use it" })}<div class="row">${select(filled, { name: "scope", label: "May", options: scopes })}${input(filled, { name: "rate_limit", label: "Requests a minute", type: "number", isRequired: true })}</div>${tick(filled, { name: "pii_masked", label: "Mask personal data from agents", hint: "Over MCP, addresses, names and birth dates are masked." })}<div class="acts"><button>Make the key</button></div>`,
      })}`
    : "";
  const made = secret
    ? html`<div class="said" role="status"><p>The new key. It is shown this once: copy it now.</p><code class="secret" tabindex="0">${secret}</code></div>`
    : "";
  const empty = html`<p>There is no key. Programs and agents need one each.</p>`;
  return settingPage(desk, "keys", html`${made}${tableOf("API keys", head, lines, empty)}${form}`);
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
      return keysPage(desk, undefined, api_key ?? "It was shown already. Revoke it, and make another.");
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
            text: "Revoke",
            question: "Programs that use it are refused from now on.",
            yes: "Revoke the key",
          })
        : "";
    return html`<tr><th scope="row">${row.name} ${row.is_active ? "" : chip("revoked")}</th><td><code>${row.key_prefix}</code></td><td>${(row.scopes as string[]).join(", ")}</td><td class="number">${count(Number(row.rate_limit))}</td><td>${row.pii_masked ? "masked from agents" : "whole"}</td><td>${row.last_used_at ? timeOf(String(row.last_used_at), timezone) : "never"}</td><td>${shown(row.expires_at, timezone)}</td><td>${revoke}</td></tr>`;
  };
}
