import type { Context } from "#runtime/operation/context.ts";

/** The property's reply to STOP, START or HELP, in its own words where it has some. It contains no marketing. */
export async function replyText(
  { sql, property }: Context,
  action: "stop" | "start" | "help",
): Promise<string> {
  const [own] = await sql<Record<typeof action, string | null>[]>`
    select sms_stop_text as stop, opt_in_text as start, help_text as help
    from properties where id = ${property.id}`;
  const given = own?.[action];
  return given ?? DEFAULTS[action](property.legal_name ?? property.name);
}

const DEFAULTS = {
  stop: (name: string) =>
    `${name}: you are unsubscribed and will get no more texts. Reply START to get them again.`,
  start: (name: string) =>
    `${name}: you will get our texts again. Msg & data rates may apply. Reply HELP for help, STOP to opt out.`,
  help: (name: string) => `${name}: offers by text. Msg & data rates may apply. Reply STOP to opt out.`,
};
