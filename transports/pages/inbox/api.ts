import { randomUUID } from "node:crypto";
import { cors } from "hono/cors";
import { isUuid } from "#db/text.ts";
import { Fault, loggedFault } from "#runtime/faults.ts";
import { asObject } from "#runtime/operation/input.ts";
import type { Inbox } from "#tools/inbox/inbox.ts";
import { readBody, readJson } from "#transports/http/body.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { type Mounting, type Visit, visitBy } from "#transports/pages/player/visit.ts";
import { type Badges, openStream } from "./badges.ts";

const PATH = "/player/inbox";
const MOST_BYTES = 16_384;

/**
 * Mounts the inbox for programs of the player: our own page, `<player-inbox>`, and the casino's app. The Bearer is a
 * subject token, or the token of an inbox link.
 */
export function mountInboxApi(mounting: Mounting, badges: Badges): void {
  const { app, service } = mounting;
  const origins = service.config.corsOrigins;
  if (origins.length > 0) app.use(`${PATH}/*`, crossOrigin(origins));
  const answer = (work: (visit: Visit, c: HttpContext) => Promise<Response>) => async (c: HttpContext) => {
    try {
      const token = /^Bearer ([\w.-]+)$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? "";
      const visit = await visitBy(mounting, "inbox", c, token);
      if (!visit) throw new Fault(token === "" ? "missing_credential" : "invalid_credential");
      return await work(visit, c);
    } catch (error) {
      return refusal(loggedFault(service.log, error, { path: PATH, requestId: randomUUID() }));
    }
  };
  app.get(PATH, answer(list));
  app.get(
    `${PATH}/badge`,
    answer(async (visit) => openStream(badges, visit)),
  );
  app.get(`${PATH}/:id`, answer(one));
  app.post(`${PATH}/mark`, answer(mark));
}

function crossOrigin(origin: string[]) {
  return cors({
    origin,
    allowMethods: ["GET", "POST"],
    allowHeaders: ["Authorization", "Content-Type", "If-None-Match"],
    exposeHeaders: ["ETag", "Retry-After"],
    maxAge: 600,
  });
}

async function list({ run }: Visit, c: HttpContext): Promise<Response> {
  const { folder, page } = c.req.query();
  const shelf = {
    ...(folder !== undefined && { folder }),
    ...(page !== undefined && { page: Number(page) }),
  };
  return conditional(await run<Inbox>("show_inbox", shelf), c);
}

async function one({ run }: Visit, c: HttpContext): Promise<Response> {
  const messageId = c.req.param("id") ?? "";
  if (!isUuid(messageId)) throw new Fault("not_found");
  return conditional(await run<Inbox>("show_inbox", { messageId }), c);
}

async function mark({ run }: Visit, c: HttpContext): Promise<Response> {
  return json(await run<Inbox>("mark_inbox_messages", await objectIn(c)));
}

async function objectIn(c: HttpContext): Promise<object> {
  const body = readJson(c.req.header("content-type") ?? null, await readBody(c.req.raw, MOST_BYTES));
  return asObject(body);
}

function conditional(inbox: Inbox, c: HttpContext): Response {
  const known = (c.req.header("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  const etag = `"${inbox.etag}"`;
  if (known.includes(etag))
    return new Response(null, { status: 304, headers: { etag, "cache-control": "no-cache" } });
  return json(inbox);
}

function json(inbox: Inbox): Response {
  return Response.json(inbox, { headers: { etag: `"${inbox.etag}"`, ...PRIVATE } });
}

const PRIVATE = { "cache-control": "private, no-cache", "x-content-type-options": "nosniff" };

function refusal(fault: Fault): Response {
  const { code, message, status, details, retryAfter } = fault;
  const headers = { ...PRIVATE, ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }) };
  return Response.json({ error: message, code, ...(details && { details }) }, { status, headers });
}
