import type { Operation } from "#runtime/operation/operation.ts";
import type { Printed } from "../../support/command-line.ts";
import { idFields, inputFor, NOWHERE, pointsTo } from "../../support/operation-calls.ts";
import type { Tenant } from "../../support/service.ts";
import type { Planted } from "../planted-rows.ts";

/** One of several properties that are alike. */
export interface Twin {
  tenant: Tenant;
  planted: Planted;
}

/** A face's answer: its data, or the words of a refusal. */
export interface Said {
  code: string | null;
  data: unknown;
}

/** The output of a command. */
export function printed(operation: Operation, { exit, stdout, stderr }: Printed): Said {
  if (exit > 2 || stdout === "") throw new Error(`${operation.name}: ${stderr}`);
  if (exit === 0 && operation.file) return { code: null, data: stdout };
  const data = JSON.parse(stdout);
  return exit > 0 ? { code: data.code, data: data.error } : { code: null, data };
}

/** The answer without the parts of each record alone: ids, times, planted random values, its face and its actor. */
export function masked(said: Said): Said {
  const text = JSON.stringify(said)
    .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, "<id>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)/g, "<time>")
    .replace(/"(client|collection_method)":"(?:rest|mcp|cli|node)"/g, '"$1":"<face>"')
    .replace(/"actor":\{[^}]*\}/g, '"actor":"<who>"')
    .replace(
      /"(actor_type|actor_id|requested_by|client|ip|ip_address|user_agent)":(?:null|"[^"]*")/g,
      '"$1":"<who>"',
    )
    .replace(/\/uploads\/[\w-]+/g, "/uploads/<token>")
    .replace(/"etag":"[\w-]{22}"/g, '"etag":"<hash>"')
    .replace(/whsec_[\w+/=-]+/g, "<secret>")
    .replace(/"B[\w-]{86}"/g, '"<push key>"')
    .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
    .replace(/\b[0-9a-f]{12}\.example\b/g, "<host>")
    .replace(/\bx[0-9a-f]{12}\b/g, "<text>")
    .replace(/\bp-[0-9a-f]{4,8}-[0-9a-f]{4,8}\b/g, "<slug>");
  return JSON.parse(text) as Said;
}

/** How long a query took, and when it was asked, is another each time. */
export function untimed(said: Said): Said {
  const timed = new Set(["sql_ms", "as_of"]);
  return JSON.parse(JSON.stringify(said, (key, value) => (timed.has(key) ? 0 : value))) as Said;
}

/** Where two answers part, from a little before; empty where they do not. */
export function apart(one: Said, other: Said): [string, string] {
  return differing(JSON.stringify(sorted(one)), JSON.stringify(sorted(other)));
}

/** The fields that agents must give beside the least input, or else get no more than a part of the answer. */
const BY_AGENTS: Record<string, Record<string, unknown>> = {
  consent_record: { consentSource: "form", consentVersion: "1" },
  list_sms_keywords_in_force: { language: "es" },
};

/** The least input, with the tenant's own records where it names some. */
export function inputOn(operation: Operation, { tenant, planted }: Twin): Record<string, unknown> {
  const input = inputFor(operation, BY_AGENTS[operation.name]);
  // No more than an agent gets in one answer.
  if (operation.crud?.verb === "list") input.limit = 20;
  for (const { field, many } of idFields(operation)) {
    if (field === operation.property) input[field] = tenant.id;
    else if (field in input) {
      const id = planted.get(pointsTo(operation, field)?.name ?? "")?.id ?? NOWHERE;
      input[field] = many ? [id] : id;
    }
  }
  return input;
}

/** Rows that were made in one moment are in any order, which differs from property to property. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, sorted(inner)]));
}

/** Two texts from a little before the place where they part. */
function differing(one: string, other: string): [string, string] {
  if (one === other) return ["", ""];
  let at = 0;
  while (one[at] === other[at]) at++;
  return [one.slice(Math.max(0, at - 60), at + 200), other.slice(Math.max(0, at - 60), at + 200)];
}
