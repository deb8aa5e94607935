import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import type { Context } from "#runtime/operation/context.ts";
import { parseText } from "./rendering/liquid.ts";

/** Fields of a player that masked answers hide. A first name stays for the greeting. */
const HIDDEN =
  /^(?:player(?:$|\[)|(?:player\.)?(?:email|phone|last_name|birth_date|postal_code|custom)(?:$|[.[]))/;
const SENDERS = new Set(["from_email", "reply_to"]);

/**
 * Refuses content of a caller with masked data that could carry hidden values to an address of the caller's own: by a
 * field in a link, or by the answers of players.
 */
export async function refuseCarrying(context: Context, content: unknown): Promise<void> {
  const { call } = context;
  if (!call.masked) return;
  const texts = [...textsIn(content)];
  const hidden = texts.flatMap(({ text }) => variablesOf(text)).find((name) => HIDDEN.test(name));
  if (hidden !== undefined) refuseMasked(call, `{{ ${hidden} }} in a link would carry it away`);
  const senders = texts.filter(({ name, text }) => SENDERS.has(name) && text !== "");
  if (senders.length === 0) return;
  const known = await domainsOf(context);
  const other = senders.find(({ text }) => !known.has(domainOf(text)));
  if (other)
    refuseMasked(call, `players may answer to ${other.name}, whose domain is not one of the property's`);
}

function* textsIn(value: unknown, name = ""): Generator<{ name: string; text: string }> {
  if (typeof value === "string") yield { name, text: value };
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* textsIn(inner, key);
}

/** A text that does not parse is refused where it is written or published. */
function variablesOf(text: string): string[] {
  if (!text.includes("{")) return [];
  try {
    return parseText("text", text).variables;
  } catch {
    return [];
  }
}

async function domainsOf({ sql, property }: Context): Promise<Set<string>> {
  const providers = await sql<{ from_address: string }[]>`
    select from_address from message_providers
    where property_id = ${property.id} and channel = 'email' and deleted_at is null and from_address is not null`;
  const senders = [property.from_email ?? "", ...providers.map(({ from_address }) => from_address)];
  return new Set(senders.filter((one) => one !== "").map(domainOf));
}

const domainOf = (address: string) => address.slice(address.lastIndexOf("@") + 1).toLowerCase();
