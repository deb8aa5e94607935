import { z } from "zod";
import { literals } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange, isChecked, readable, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type NextOf, type RowOf, table, type Values } from "#runtime/operation/table.ts";
import { quoted } from "#runtime/visible-text.ts";
import { BEGUN_CAMPAIGNS } from "#tools/statuses/campaigns.ts";
import { refuseUsed } from "#tools/uses/refuse-used.ts";
import { checkScript } from "#tools/voice/check-script.ts";
import { VoiceScript } from "#tools/voice/script.ts";
import { MESSAGE_CHANNELS } from "./channels.ts";
import { refuseCarrying } from "./masked-content.ts";
import { mjmlChange } from "./mjml/render.ts";
import { checkSyntax, parseText } from "./rendering/liquid.ts";

const body = () => z.string().min(1).max(500_000).nullable().optional();

const columns = {
  name: writable(z.string().trim().min(1).max(200).describe("For the staff; players do not see it"), {
    concise: true,
  }),
  channel: writable(z.enum(MESSAGE_CHANNELS).default("email").describe("Of the campaigns that use it"), {
    concise: true,
    checks: ["sending"],
  }),
  engine: writable(
    z.enum(["liquid", "mjml"]).default("liquid").describe("The language of the layout: html or mjml"),
    { concise: true, checks: ["sending"] },
  ),
  subject: writable(
    z.string().trim().min(1).max(500).nullable().optional().describe("The subject of an email; Liquid"),
    {
      concise: true,
      checks: ["sending"],
    },
  ),
  html: writable(body().describe("The engine mjml makes it from mjml"), { checks: ["sending"] }),
  mjml: writable(body().describe("MJML with Liquid in it, for the engine mjml"), { checks: ["sending"] }),
  text: writable(body().describe("Made from the HTML when left out"), { checks: ["sending"] }),
  voice_script: writable(
    z.record(z.string(), z.unknown()).pipe(VoiceScript).nullable().optional().describe("See schema://voice"),
    { checks: ["sending"] },
  ),
  variables: readable(
    z
      .array(z.string())
      .nullable()
      .describe(
        "The recipient's fields in the template, also those with a default. […]: it computes the names of further ones, as in {{ [name] }}. null for a template of an older version",
      ),
    { concise: true, vocabulary: true },
  ),
  version: readable(z.int(), { concise: true }),
};

export default table({
  name: "templates",
  noun: "template",
  key: ["name"],
  called: "name",
  description:
    'A template is content that campaigns share, in Liquid: {{ first_name | default: "friend" }}, {{ player.player_id }}, {{ player.custom.key }}, {{ property.name }}, {{ unsubscribe_url }}, {{ preferences_url }}, {{ inbox_url }}, {{ game_url }}. first_name, last_name, email and tier may stand alone; every other field of a player is under player.',
  softDelete: true,
  shapesMessages: ["update", "delete"],
  columns,
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { verb, input, current } = change;
  if (verb === "delete") {
    await refuseUsed(context, { noun: "template", id: current.id });
    return {};
  }
  if (current && isChecked(columns, input, "sending")) await checkNotSending(context, current);
  checkSyntax(input);
  await refuseCarrying(context, input);
  await checkScript(context, input.voice_script, parseText);
  const next = afterChange(columns, change);
  const made = await engineChange(context, next, change);
  const { subject, html, text } = { ...next, ...made };
  const written = { ...input, ...made, variables: checkSyntax({ subject, html, text }) };
  return current ? { ...written, version: current.version + 1 } : written;
}

/**
 * A campaign under way keeps its content. Queueing a campaign, or giving it another template, locks the template's
 * row, so the two transactions see each other.
 */
async function checkNotSending({ sql, property }: Context, template: RowOf<typeof columns>): Promise<void> {
  const [campaign] = await sql<{ name: string; status: string }[]>`
    select name, status from campaigns
    where property_id = ${property.id} and ${uses(sql, template)} and deleted_at is null
      and status in (${literals(BEGUN_CAMPAIGNS)})
    limit 1`;
  if (!campaign) return;
  throw new Fault("conflict", {
    message: `The campaign ${quoted(campaign.name)} (${campaign.status}) is sending this template. Change the content after it has ended, or pause it and give it another template.`,
  });
}

/** With the engine mjml, HTML is made of the MJML. After a change back to liquid, the MJML goes and the HTML stays. */
async function engineChange(
  context: Context,
  { engine, mjml }: NextOf<typeof columns>,
  { input, current }: Change<typeof columns>,
): Promise<Values> {
  if (engine === "mjml") {
    if (typeof mjml !== "string") throw invalid("mjml", "the engine mjml needs it");
    return mjmlChange(context, { source: "mjml", html: "html" }, input, current);
  }
  if (typeof input.mjml === "string") throw invalid("mjml", "is for the engine mjml");
  return { mjml: null };
}

/** Over `campaigns`: whether a campaign or one of its variants has the template. */
function uses(sql: Context["sql"], { id }: RowOf<typeof columns>) {
  return sql`(template_id = ${id} or exists (
    select from jsonb_array_elements(ab_test -> 'variants') v where v ->> 'template_id' = ${id}))`;
}
