import { pipeline } from "node:stream/promises";
import { FAULTS, Fault, type FaultCode } from "#runtime/faults.ts";
import type { Operation } from "#runtime/operation.ts";
import type { Arguments } from "./cli-arguments.ts";
import { pathOf } from "./rest.ts";

interface Plan {
  method: string;
  path: string;
  body?: unknown;
}

/** Calls an operation of a service elsewhere, over REST. Answers the body, or prints a file; throws its faults. */
export async function callRemote(operation: Operation, given: Arguments): Promise<string> {
  const plan = planOf(operation, given);
  const upload = operation.name === "create_import_job" && typeof given.input.csv === "string";
  const response = await fetch(new URL(plan.path, given.url), {
    method: plan.method,
    headers: {
      ...(given.key && { Authorization: `Bearer ${given.key}` }),
      ...(given.property && { "X-Property-Id": given.property }),
      ...(given.idempotencyKey && { "Idempotency-Key": given.idempotencyKey }),
      ...(plan.body !== undefined && !upload && { "Content-Type": "application/json" }),
    },
    ...(plan.body !== undefined && { body: upload ? form(given.input) : JSON.stringify(plan.body) }),
  }).catch((error: unknown) => {
    throw new Fault("unavailable", { message: `Nothing answers at ${given.url}.`, cause: error });
  });
  if (response.ok && operation.file && response.body) {
    await pipeline(response.body, process.stdout, { end: false });
    return "";
  }
  const text = await response.text();
  if (response.ok) return text;
  throw remoteFault(response.status, text);
}

function planOf(operation: Operation, { input }: Arguments): Plan {
  if (!operation.crud) return { method: "POST", path: pathOf(operation), body: input };
  const { table, verb } = operation.crud;
  const collection = `/api/${table.name}`;
  const { id, ...rest } = input;
  const record = `${collection}/${encodeURIComponent(String(id))}`;
  if (verb === "list") return { method: "GET", path: `${collection}?${query(input)}` };
  if (verb === "create") return { method: "POST", path: collection, body: input };
  if (verb === "update") return { method: "PATCH", path: record, body: rest };
  // What is left out of the address is not done: a removal that was only to be tried would be made.
  return { method: verb === "get" ? "GET" : "DELETE", path: `${record}?${query(rest)}` };
}

function query({ filters = {}, count: _, ...options }: Record<string, unknown>): URLSearchParams {
  const pairs = Object.entries({ ...(filters as object), ...options }).flatMap(([key, value]) =>
    [value].flat().map((one): [string, string] => [key, String(one)]),
  );
  return new URLSearchParams(pairs);
}

/** A whole file travels as a file: a JSON body has a limit. */
function form({ csv, ...parameters }: Record<string, unknown>): FormData {
  const data = new FormData();
  data.set("params", JSON.stringify(parameters));
  data.set("file", new Blob([String(csv)], { type: "text/csv" }), "players.csv");
  return data;
}

function remoteFault(status: number, text: string): Fault {
  try {
    const { error, code, details, retry_after } = JSON.parse(text);
    const known = Object.hasOwn(FAULTS, code) ? (code as FaultCode) : "internal";
    // The header is the flag's other name.
    const message = String(error).replaceAll("X-Property-Id", "--property");
    return new Fault(known, { message, details, retryAfter: retry_after });
  } catch {
    return new Fault("internal", { message: `The service answered ${status}.` });
  }
}
