import { createHash, randomUUIDv7 } from "node:crypto";
import type { Fragment } from "#db/sql.ts";
import { appended, appendRows, PLATFORM_LEDGER } from "#runtime/ledgers.ts";
import type { Call, Context, Tenant } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";

export interface AuditRow {
  id: string;
  actor_type: "player" | "user" | "api_key" | "system";
  actor_id: string | null;
  client: string | null;
  action: string;
  entity: string | null;
  entity_id: string | null;
  diff: object | null;
  ip: string | null;
  request_id: string | null;
}

/** The audit row of a call. */
export function auditRow(
  call: Call,
  action: string,
  about: { entity?: string | undefined; entityId?: string | null | undefined; diff?: object | undefined },
): AuditRow {
  return {
    id: randomUUIDv7(),
    actor_type: call.actor.type === "anonymous" ? "system" : call.actor.type,
    actor_id: call.actor.id,
    client: call.client ?? call.transport,
    action,
    entity: about.entity ?? null,
    entity_id: about.entityId ?? null,
    diff: about.diff ?? null,
    ip: call.ip ?? null,
    request_id: call.requestId,
  };
}

/** Writes an audit row of a property, for jobs and pages: the funnel writes those of operations alone. */
export async function writeAuditRow(
  { sql, property, call }: Tenant & Pick<Context, "call">,
  action: string,
  about: Parameters<typeof auditRow>[2],
): Promise<void> {
  await appendRows(sql, "audit_logs", [{ ...auditRow(call, action, about), property_id: property.id }]);
}

/** The audit row of an operation's call. Its subject is the one that the call names, or else the answered record. */
export function auditOf({ operation, call, effects: { about } }: Audited, result: unknown): AuditRow {
  return auditRow(call, about.action ?? operation.name, {
    entity: about.entity ?? operation.crud?.table.name,
    entityId: about.entityId === undefined ? idOf(result) : about.entityId,
    diff: about.diff,
  });
}

interface Audited {
  operation: Operation;
  call: Call;
  effects: { about: Parameters<Context["audit"]>[0] };
}

function idOf(result: unknown): string | null {
  if (typeof result !== "object" || result === null || !("id" in result)) return null;
  return typeof result.id === "string" ? result.id : null;
}

/** An audit row with its property; null for one of the platform. */
export type OwnedAuditRow = AuditRow & { property_id: string | null };

/** The statement that writes audit rows of a property, or of the platform. */
export function auditedRows(rows: OwnedAuditRow[]): Fragment {
  return appended(rows[0]!.property_id === null ? PLATFORM_LEDGER : "audit_logs", rows);
}

/** SHA-256 over a value's canonical JSON. */
export function canonicalHash(value: object): Buffer {
  return createHash("sha256").update(canonical(value)).digest();
}

/** JSON with its keys sorted and no white space: for strings, whole numbers and lists as RFC 8785 has it. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}
