import { z } from "zod";
import { readable, writable } from "#runtime/columns.ts";
import { Fault } from "#runtime/faults.ts";
import { type Change, type Context, type Row, table } from "#runtime/operation.ts";
import { CHANNELS } from "#tools/campaigns/campaign.ts";
import { checkSyntax } from "#tools/campaigns/content.ts";

const body = () => z.string().min(1).max(500_000).nullable().optional();

export default table({
  name: "templates",
  noun: "template",
  key: ["name"],
  description:
    'A template is content that campaigns share, in Liquid: {{ first_name | default: "friend" }}, {{ player.custom.key }}, {{ property.name }}, {{ unsubscribe_url }}, {{ preferences_url }}.',
  softDelete: true,
  columns: {
    name: writable(z.string().trim().min(1).max(200)),
    channel: writable(z.enum(CHANNELS).default("email")),
    engine: writable(z.enum(["liquid"]).default("liquid")),
    subject: writable(z.string().trim().min(1).max(500).nullable().optional()),
    html: writable(body()),
    text: writable(body().describe("Made from the HTML when left out")),
    version: readable(z.int()),
  },
  beforeWrite,
});

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change,
): Promise<Record<string, unknown>> {
  if (verb === "delete") {
    await checkUnused(context, current!);
    return {};
  }
  checkSyntax(input);
  return current ? { ...input, version: Number(current.version) + 1 } : input;
}

async function checkUnused({ sql, property }: Context, template: Row): Promise<void> {
  const [campaign] = await sql<{ name: string; status: string }[]>`
    select name, status from campaigns
    where property_id = ${property.id} and template_id = ${template.id} and deleted_at is null
      and status in ('scheduled', 'queued', 'sending', 'paused')
    limit 1`;
  if (!campaign) return;
  throw new Fault("conflict", {
    message: `The campaign "${campaign.name}", which is ${campaign.status}, uses this template.`,
  });
}
