import { randomUUID } from "node:crypto";
import { z } from "zod";
import { visible } from "#runtime/visible-text.ts";
import { methodOf } from "./messages.ts";

/** Facts that a client of the 2025 revisions says once, at `initialize`. */
export interface Session {
  /** It shows views. */
  views: boolean;
  /** Its own name. */
  client: string | undefined;
}

const HEADER = "Mcp-Session-Id";
const LONGEST_NAME = 100;

const Opening = z.looseObject({
  params: z.looseObject({
    capabilities: z.unknown(),
    clientInfo: z.looseObject({ name: z.string() }),
  }),
});

/** A client's name as the audit log keeps it. */
export function shownName(name: string): string | undefined {
  return visible(name).slice(0, LONGEST_NAME).toWellFormed() || undefined;
}

/** The session that a message opens; null for any other message. */
export function openedBy(body: unknown, showsViews: (capabilities: unknown) => boolean): Session | null {
  if (methodOf(body) !== "initialize") return null;
  const opening = Opening.safeParse(body);
  if (!opening.success) return null;
  const { capabilities, clientInfo } = opening.data.params;
  return { views: showsViews(capabilities), client: shownName(clientInfo.name) };
}

/**
 * The session of a later message. The id that the client got and repeats carries the facts, so that no process keeps a
 * session; a client that invents one says no more than it may say at `initialize`.
 */
export function sessionIn(headers: Headers): Session {
  const given = headers.get(HEADER);
  if (given === null) return { views: false, client: undefined };
  const [kind, name = ""] = given.split(".");
  return { views: kind === "views", client: shownName(Buffer.from(name, "base64url").toString()) };
}

/** Gives a client that opens a session its id. */
export function remembered(session: Session | null, response: Response): Response {
  if (session && response.ok) {
    const name = Buffer.from(session.client ?? "").toString("base64url");
    response.headers.set(HEADER, [session.views ? "views" : "plain", name, randomUUID()].join("."));
  }
  return response;
}
