import { toFault } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import type { Context } from "#runtime/operation/context.ts";
import { carriesLinks } from "./carried-links.ts";
import { allNames } from "./rendering/liquid.ts";

/** Fields of a player that masked answers hide. A first name stays for the greeting. */
const HIDDEN =
  /^(?:\[|player(?:$|\[)|(?:player\.)?(?:email|phone|last_name|birth_date|postal_code|custom)(?:$|[.[]))/;
const SENDERS = new Set(["from_email", "reply_to", "from_address"]);

/**
 * Refuses content of a caller with masked data that could carry hidden values to an address of the caller's own: by a
 * field or a player's link in an address, or by the answers of players.
 */
export async function refuseCarrying(context: Context, content: unknown): Promise<void> {
  const { call } = context;
  if (!call.masked) return;
  const texts = [...textsIn(content)];
  for (const { name, text } of texts) if (text.includes("{")) refuseText(call, name, text);
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

function refuseText(call: Context["call"], field: string, text: string): void {
  let names: string[];
  try {
    names = allNames(text);
  } catch (error) {
    refuseMasked(call, `a text that does not parse may show it: ${toFault(error).message} (${field})`);
    return;
  }
  const hidden = names.find((name) => HIDDEN.test(name));
  if (hidden !== undefined) {
    refuseMasked(
      call,
      `{{ ${hidden} }} in a link would carry it away. Leave it out, as first_name and tier may stay, or use a template that another key has written`,
    );
  }
  if (carriesLinks(text)) {
    refuseMasked(
      call,
      "a player's page shows it, whose link may not be part of another address. Let the link stand alone in its attribute or between blanks, without filters and conditions around it",
    );
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
