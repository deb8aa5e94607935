import type { z } from "zod";
import type { Sql } from "#db/database.ts";
import type { Fragment } from "#db/sql.ts";
import type { Config } from "#runtime/config.ts";
import type { Log } from "#runtime/log.ts";
import type { EventName } from "./events.ts";
import type { Property } from "./property.ts";

export type Scope = "read" | "write";

/** What a call does to the world; gives the MCP hints, the audit row and what agents must confirm. */
export type Effect = "read" | "create" | "change" | "destroy" | "contact";

/**
 * Who may call. `property`: any credential of the property. `manager`: a user who is admin or manager of
 * the property. `operator`: a platform admin, or the CLI on the machine. `user`: any signed-in user.
 * `public`: nobody needs a credential.
 */
export type Access = "property" | "manager" | "operator" | "user" | "public";

export type Actor =
  | {
      type: "api_key";
      id: string;
      propertyId: string;
      scopes: readonly Scope[];
      rateLimit: number;
      /** Over MCP it is shown nobody's address, name or birth date whole. */
      piiMasked?: boolean;
      /** Off: over MCP it acts without showing first what it would do. */
      agentConfirmation?: "on" | "off";
    }
  | { type: "user"; id: string; email: string; isPlatformAdmin: boolean; memberships: readonly Membership[] }
  | { type: "system"; id: null }
  | { type: "anonymous"; id: null };

export interface Membership {
  property_id: string;
  role: "admin" | "manager" | "analyst";
}

/** What a call brings that confirms it: the token, and SHA-256 of the operation's arguments. */
export interface Confirmation {
  token: string;
  argumentsHash: Buffer;
}

/** One request, by whichever face it came. */
export interface Call {
  actor: Actor;
  transport: "rest" | "mcp" | "cli" | "job" | "page";
  requestId: string;
  /** The property that the caller selected outside the input (X-Property-Id, --property). */
  propertyId?: string | undefined;
  ip?: string | undefined;
  userAgent?: string | undefined;
  /** The agent's own name, from MCP. */
  client?: string | undefined;
  idempotency?: { key: string; fingerprint: Buffer } | undefined;
  /** Is told which fields the input gives, before they are checked. */
  onFields?: ((names: readonly string[]) => void) | undefined;
  /** Whoever reads the answer is shown nobody's address, name or birth date whole. */
  masked?: boolean | undefined;
  /** By which an agent confirms what it was shown. */
  confirmation?: Confirmation | undefined;
  /** Entity tags of which the record must have one, or `*`. */
  ifMatch?: readonly string[] | "*" | undefined;
}

export interface EnqueueOptions {
  /** At most one waiting job of this name has this value; another one changes nothing. */
  dedupe?: string;
  /** ISO time, or seconds from now. */
  runAt?: string | number;
}

/** What `enqueue` needs of a job: its name, how often it may be tried, and the type of its input. */
export interface JobReference<Input> {
  readonly name: string;
  readonly attempts: number;
  readonly input: z.ZodType<Input>;
}

/** A new row that the transaction's last statement inserts, beside its event, audit row and recorded answer. */
export interface Insertion {
  id: string;
  /** They end with `answered`, whose `body` is the row's JSON text. */
  parts: Fragment[];
  /** That text as the caller is shown it. */
  shown(body: string): string;
  /** The statement's failure as the caller is told it. */
  explain(error: unknown): unknown;
}

export interface Context {
  /** The transaction of this call, as the tenant (or as the platform, in operations of realm `system`). */
  sql: Sql;
  property: Property;
  call: Call;
  config: Config;
  log: Log;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
  /** A session token of a user who has proved who they are, issued at `from` (Unix seconds) or later. */
  issueToken(userId: string, from?: number): Promise<string>;
  /** The detached JWS of bytes, which the keys at /.well-known/jwks.json verify. */
  signDetached(bytes: Uint8Array): Promise<string>;
  /** Writes an event to the outbox in this transaction, for the endpoints that have asked for it. */
  emit(type: EventName, object: object | "answered", previous?: object): void;
  /** Puts a job on the queue in this transaction. */
  enqueue<Input>(job: JobReference<Input>, input: Input, options?: EnqueueOptions): void;
  /** Leaves a new row to the last statement, whose row is the answer. Absent where several rows are written. */
  insertLast?(insertion: Insertion): { id: string };
  /** Names the state that this answer is about: whoever confirms it confirms that state, and no other. */
  bind?(state: string): void;
  /** Set where an agent has confirmed what it was shown: the state that this was about, if one was named. */
  confirmed?: { bound: string | null };
  /** Says of a list that there are more rows, and by which cursor they are asked for. */
  goOn?(cursor: string): void;
  /** Says how many rows a list has on all of its pages. */
  counted?(total: number): void;
  /** Names what the audit row is about, when the result's `id` does not. */
  audit(about: {
    /** Default: the operation's name. */
    action?: string;
    entity?: string;
    entityId?: string | null;
    propertyId?: string;
    diff?: object;
  }): void;
}

/** The tenant of a call and its transaction: all that most statements need. */
export type Tenant = Pick<Context, "sql" | "property">;
