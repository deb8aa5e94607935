import type { Sql } from "#db/database.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { resolveProperty } from "./access.ts";
import { type Given, giveConfirmation } from "./confirmations.ts";
import { needsProperty } from "./invoke.ts";
import { findAnswer, keyedCall, scopeOf } from "./replay.ts";
import type { Outcome, Service } from "./service.ts";

/** An agent's call of an operation. */
export interface Asked {
  service: Service;
  operation: Operation;
  call: Call;
  input: Record<string, unknown>;
}

/** Whether agents must confirm calls here. The property or the key can switch that off. */
export async function isAsked(asked: Asked): Promise<boolean> {
  return asks(asked.call, await propertyOf(asked));
}

function asks({ actor }: Call, property: Property | null): boolean {
  if (actor.type === "api_key" && actor.agentConfirmation === "off") return false;
  return property?.agent_confirmation !== "off";
}

async function propertyOf({ service, operation, call, input }: Asked): Promise<Property | null> {
  return needsProperty(operation) ? resolveProperty(service.directory, operation, call, input) : null;
}

/** The recorded answer under the call's Idempotency-Key, or null. Throws `idempotency_key_reused`. */
export async function recordedAnswer(asked: Asked): Promise<Outcome | null> {
  if (!asked.call.idempotency) return null;
  const run = { ...asked, property: await propertyOf(asked) };
  const keyed = keyedCall(run);
  return keyed && findAnswer(run, keyed);
}

/** The token that confirms the preview of this agent. */
export async function confirmationOf(
  asked: Asked,
  shown: { argumentsHash: Buffer; bound: string | null },
): Promise<Given> {
  const { service, operation, call } = asked;
  const property = await propertyOf(asked);
  const keep = (sql: Sql) => giveConfirmation(sql, scopeOf(call, property), operation, shown);
  const isTenants = operation.realm === "property";
  return isTenants ? service.db.asProperty(property!.id, keep) : service.db.asSystem(keep);
}
