import { z } from "zod";
import { readable, writable } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, type Row, table } from "#runtime/operation.ts";
import { CHANNELS } from "#tools/campaigns/campaign.ts";
import { checkSyntax } from "#tools/campaigns/content.ts";
import { mjmlChange } from "./mjml.ts";

const body = () => z.string().min(1).max(500_000).nullable().optional();

export default table({
  name: "templates",
  noun: "template",
  concise: ["name", "channel", "engine", "subject", "variables", "version", "created_at"],
  key: ["name"],
  description:
    'A template is content that campaigns share, in Liquid: {{ first_name | default: "friend" }}, {{ player.player_id }}, {{ player.custom.key }}, {{ property.name }}, {{ unsubscribe_url }}, {{ preferences_url }}. first_name, last_name, email and tier may stand alone; every other field of a player is under player.',
  softDelete: true,
  columns: {
    name: writable(z.string().trim().min(1).max(200)),
    channel: writable(z.enum(CHANNELS).default("email")),
    engine: writable(
      z.enum(["liquid", "mjml"]).default("liquid").describe("What the layout is written in: html or mjml"),
    ),
    subject: writable(
      z.string().trim().min(1).max(500).nullable().optional().describe("Of an email; Liquid"),
    ),
    html: writable(body().describe("With the engine mjml it is made of mjml")),
    mjml: writable(body().describe("MJML with Liquid in it, for the engine mjml")),
    text: writable(body().describe("Made from the HTML when left out")),
    variables: readable(
      z
        .array(z.string())
        .nullable()
        .describe(
          "What it takes of a recipient, those with a default too; null for one written by an older version",
        ),
    ),
    version: readable(z.int()),
  },
  beforeWrite,
});

const CONTENT = ["channel", "engine", "subject", "html", "mjml", "text"];

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change,
): Promise<Record<string, unknown>> {
  if (verb === "delete") {
    await checkUnused(context, current!);
    return {};
  }
  if (current && CONTENT.some((name) => name in input)) await checkNotSending(context, current);
  checkSyntax(input);
  const made = await engineChange(context, input, current);
  const { subject, html, text } = { ...current, ...input, ...made };
  const written = { ...input, ...made, variables: checkSyntax({ subject, html, text }) };
  return current ? { ...written, version: Number(current.version) + 1 } : written;
}

/**
 * One campaign says one thing: what is on its way keeps its content. Whoever queues a campaign, or gives it another
 * template, holds the template's row meanwhile, so that one of the two sees the other.
 */
async function checkNotSending({ sql, property }: Context, template: Row): Promise<void> {
  const [campaign] = await sql<{ name: string; status: string }[]>`
    select name, status from campaigns
    where property_id = ${property.id} and ${uses(sql, template)} and deleted_at is null
      and status in ('queued', 'sending', 'paused')
    limit 1`;
  if (!campaign) return;
  throw new Fault("conflict", {
    message: `The campaign "${campaign.name}", which is ${campaign.status}, is sending this template; change the content when it is through, or give it another template while it is paused.`,
  });
}

/** What follows from the engine: of mjml comes the HTML; back from there, the MJML goes and the HTML stays. */
async function engineChange(
  context: Context,
  input: Record<string, unknown>,
  current: Row | null,
): Promise<Record<string, unknown>> {
  const { engine, mjml } = { ...current, ...input };
  if (engine === "mjml") {
    if (typeof mjml !== "string") throw invalid("mjml", "the engine mjml needs it");
    return mjmlChange(context, { source: "mjml", html: "html" }, input, current);
  }
  if (typeof input.mjml === "string") throw invalid("mjml", "is for the engine mjml");
  return { mjml: null };
}

/** Over `campaigns`: whether one is made of the template, or a variant of it. */
function uses(sql: Context["sql"], { id }: Row) {
  return sql`(template_id = ${id} or exists (
    select from jsonb_array_elements(ab_test -> 'variants') v where v ->> 'template_id' = ${id}))`;
}

async function checkUnused({ sql, property }: Context, template: Row): Promise<void> {
  const [campaign] = await sql<{ name: string; status: string }[]>`
    select name, status from campaigns
    where property_id = ${property.id} and ${uses(sql, template)} and deleted_at is null
      and status in ('scheduled', 'queued', 'sending', 'paused')
    limit 1`;
  if (!campaign) return;
  throw new Fault("conflict", {
    message: `The campaign "${campaign.name}", which is ${campaign.status}, uses this template.`,
  });
}
