import { z } from "zod";
import { Fault, one } from "#runtime/faults.ts";
import { createOnly, pastTime, readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type RowOf, table, type Values } from "#runtime/operation/table.ts";
import { playerWords } from "#tools/people/words.ts";
import { dueAt, OPEN_STATUSES, REQUEST_STATUSES, REQUEST_TYPES } from "./request.ts";

const columns = {
  player_id: createOnly(
    z.uuid().nullish().describe("From list_players; null while the person is not identified"),
  ),
  type: createOnly(z.enum(REQUEST_TYPES).describe("The kind of the request")),
  status: writable(z.enum(REQUEST_STATUSES).default("received").describe("completed and rejected are final")),
  regulation: createOnly(
    z.string().trim().min(1).max(40).default("gdpr").describe("One of the property's privacy_deadlines"),
    { vocabulary: true },
  ),
  received_at: createOnly(pastTime().optional().describe("Default: now")),
  due_at: readable(timestamp()),
  completed_at: readable(timestamp().nullable()),
  requested_by: readable(z.uuid().nullable()),
  note: writable(z.string().trim().min(1).max(2000).nullish().describe("For the staff")),
  result: readable(z.record(z.string(), z.unknown()).nullable()),
};

export default table({
  name: "privacy_requests",
  noun: "privacy_request",
  description:
    "A person's request under privacy law, with its due time. data_export and data_deletion complete the open request of their type, or record a new one.",
  verbs: ["list", "get", "create", "update"],
  asks: ["update"],
  columns,
  beforeWrite,
});

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change<typeof columns>,
): Promise<Values> {
  const { status } = input;
  const changes = status !== undefined && status !== current?.status;
  if (current && changes && !OPEN_STATUSES.includes(current.status)) {
    throw new Fault("conflict", {
      message: `The request is ${current.status}, which is final. Create a new request.`,
    });
  }
  const isEnd = changes && !OPEN_STATUSES.includes(status);
  if (current && isEnd) await askAboutEnd(context, current, status);
  const done = isEnd ? { completed_at: "now" } : {};
  if (verb !== "create") return { ...input, ...done };
  await checkPlayer(context, input.player_id);
  const due_at = await dueAt(context, input.regulation, input.received_at ?? null);
  return { ...input, ...done, due_at };
}

/** A person waits for the answer, and has a right to it. */
async function askAboutEnd(
  context: Context,
  { type, player_id, due_at }: RowOf<typeof columns>,
  status: string,
): Promise<void> {
  const whose = player_id ? await playerWords(context, player_id) : "a person who is not identified";
  const sentence = `This ends the ${type} request of ${whose}, which is due at ${due_at}, as ${status}. It does nothing else, and it cannot be opened again.`;
  context.ask?.({ sentences: () => [sentence] });
}

async function checkPlayer({ sql, property }: Context, id: string | null = null): Promise<void> {
  if (id === null) return;
  const players = await sql`
    select from players where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  one(players, "player", id);
}
