import { z } from "zod";
import { createOnly, pastTime, readable, timestamp, writable } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault } from "#runtime/faults.ts";
import { type Change, table } from "#runtime/operation.ts";
import { dueAt, OPEN_STATUSES, REQUEST_STATUSES, REQUEST_TYPES, type RequestStatus } from "./request.ts";

export default table({
  name: "privacy_requests",
  noun: "privacy_request",
  description:
    "What a person has asked for by privacy law, and by when it is due. data_export and data_deletion complete the open request of their type, or write one.",
  verbs: ["list", "get", "create", "update"],
  columns: {
    player_id: createOnly(
      z.uuid().nullish().describe("From list_players; null while it is not known who asks"),
    ),
    type: createOnly(z.enum(REQUEST_TYPES).describe("What the person asks for")),
    status: writable(
      z.enum(REQUEST_STATUSES).default("received").describe("completed and rejected are final"),
    ),
    regulation: createOnly(
      z.string().trim().min(1).max(40).default("gdpr").describe("One of the property's privacy_deadlines"),
    ),
    received_at: createOnly(pastTime().optional().describe("Default: now")),
    due_at: readable(timestamp()),
    completed_at: readable(timestamp().nullable()),
    requested_by: readable(z.uuid().nullable()),
    note: writable(z.string().trim().min(1).max(2000).nullish()),
    result: readable(z.record(z.string(), z.unknown()).nullable()),
  },
  beforeWrite,
});

async function beforeWrite(context: Context, { input, current }: Change): Promise<Record<string, unknown>> {
  const status = input.status as RequestStatus | undefined;
  const changes = status !== undefined && status !== current?.status;
  if (current && changes && !OPEN_STATUSES.includes(current.status as RequestStatus)) {
    throw new Fault("conflict", { message: `A request that is ${current.status} stays so.` });
  }
  const done = changes && !OPEN_STATUSES.includes(status) ? { completed_at: "now" } : {};
  if (current) return { ...input, ...done };
  await checkPlayer(context, input.player_id);
  const received = (input.received_at as string | undefined) ?? null;
  return { ...input, ...done, due_at: await dueAt(context, String(input.regulation), received) };
}

async function checkPlayer({ sql, property }: Context, id: unknown): Promise<void> {
  if (id === undefined || id === null) return;
  const players = await sql`
    select from players where property_id = ${property.id} and id = ${String(id)} and deleted_at is null`;
  if (players.length === 0)
    throw new Fault("not_found", { message: `No player with the id ${id} in this property.` });
}
