import type { Context } from "#runtime/operation/context.ts";

/** Whether the service sends at all, for every property, each with its meaning. */
export const SERVICE_SENDING = {
  open: "It sends.",
  held: "the service's database was restored or cloned: nothing is sent until the operator's release_sending",
  off: "the service was started with SENDING=off: nothing is sent until the operator starts it with SENDING=on",
} as const;
export type ServiceSending = keyof typeof SERVICE_SENDING;

/** Whether this process sends: another one of the service may be started with another SENDING. */
export async function serviceSending({
  sql,
  config,
}: Pick<Context, "sql" | "config">): Promise<ServiceSending> {
  const [row] = await sql<{ is_open: boolean }[]>`select sending_is_open() as is_open`;
  if (!row!.is_open) return "held";
  return config.sending ? "open" : "off";
}

/** The warning that messages wait in the queue; none where they go out. */
export async function serviceWarnings(context: Pick<Context, "sql" | "config">): Promise<string[]> {
  const state = await serviceSending(context);
  return state === "open" ? [] : [`${SERVICE_SENDING[state]}; the messages wait in the queue`];
}
