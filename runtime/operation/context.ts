import type { z } from "zod";
import type { Sql, Write } from "#db/database.ts";
import type { Config } from "#runtime/config.ts";
import type { Log } from "#runtime/log.ts";
import type { Membership } from "#runtime/roles.ts";
import type { EventName } from "./events.ts";
import type { Property } from "./property.ts";

export type Scope = "read" | "write";

/** The effect of a call. It decides the MCP hints, the audit row, and whether agents must confirm. */
export type Effect = "read" | "create" | "change" | "destroy" | "contact";

/**
 * The permitted callers. `property`: any credential of the property. `manager`: a user who is admin or manager of the
 * property. `admin`: a user who is admin of it. `person`: an admin or manager, but neither an agent over MCP nor the
 * command line. `operator`: a platform admin, or the CLI on the machine. `user`: any signed-in user. `public`:
 * everybody, without a credential.
 */
export type Access = "property" | "manager" | "admin" | "person" | "operator" | "user" | "public";

export type Actor =
  | {
      type: "api_key";
      id: string;
      propertyId: string;
      scopes: readonly Scope[];
      rateLimit: number;
      /** Over MCP, addresses, names and birth dates are masked for it. */
      piiMasked?: boolean;
      /** Off: over MCP it acts without a preview first. */
      agentConfirmation?: "on" | "off";
      /** The user who has made it. */
      createdBy?: string | null;
    }
  | {
      type: "user";
      id: string;
      email: string;
      isPlatformAdmin: boolean;
      memberships: readonly Membership[];
      /** The session of a token of ours, until its person signs out. */
      session?: string;
      /** Unix seconds: the session's start. A new password ends the earlier ones. */
      signedInAt?: number;
      /** Unix seconds: the token's end. */
      signedInUntil?: number;
    }
  | { type: "system"; id: null }
  | { type: "anonymous"; id: null };

export type User = Extract<Actor, { type: "user" }>;

/** A sign-in, which its token names. */
export interface Session {
  id: string;
  userId: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** The confirmation in a call: the token, and SHA-256 of the operation's arguments. */
export interface Confirmation {
  token: string;
  argumentsHash: Buffer;
}

/** One request, by any face. */
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
  /** Called with the names of the given fields, before they are checked. */
  onFields?: ((names: readonly string[]) => void) | undefined;
  /** Addresses, names and birth dates are masked in the answer. The funnel adds the analysts of such a property. */
  masked?: boolean | undefined;
  /** An agent's confirmation of its preview. */
  confirmation?: Confirmation | undefined;
  /** A call whose handler asks is rolled back: its questions are the answer. */
  mustAsk?: boolean | undefined;
  /**
   * `weighed`: the property limits the reach of calls that no person has approved, so questions count people.
   * `approved`: a person has approved the counted call.
   */
  review?: "weighed" | "approved" | undefined;
  /** Entity tags, or `*`. The record must have one of them. */
  ifMatch?: readonly string[] | "*" | undefined;
}

export interface EnqueueOptions {
  /** At most one waiting job of this name has this value; a further one changes nothing. */
  dedupe?: string;
  /** Jobs of this name with this value run one at a time, and one run serves all that wait. */
  mergeKey?: string;
  /** ISO time, or seconds from now. */
  runAt?: string | number;
}

/** The call has read what is no longer so: it runs once more. For a context with `writeLast`, which is absent then. */
export class Stale extends Error {}

/** The part of a job that `enqueue` needs: its name, its attempts, and the type of its input. */
export interface JobReference<Input> {
  readonly name: string;
  readonly attempts: number;
  readonly input: z.ZodType<Input>;
}

/** A question to the person for whom an agent acts. */
export interface Question {
  /** The subject: a confirmation holds while this is the same. Default: the sentences. */
  state?: string;
  /** The text for the person, made only where somebody is asked. Players write no sentence of it. */
  sentences(): Promise<string[]> | string[];
  /**
   * The parts of the subject by their names, each with its hash, made only for a proposal. It stays valid while these
   * are the same, and the changed ones are named. Default: the state.
   */
  facts?(): Promise<Record<string, string>> | Record<string, string>;
  /** Players of an audience as shown. An agreement holds while it grows by no more than the property allows. */
  audience?: number | null;
  /** The result is a draw: a preview does not show it. */
  conceals?: true;
  /**
   * The reach of an action that reaches people. An operation of the effect `contact` has a known reach only with it.
   */
  reach?: Reach;
}

/** How far an action reaches, counted only where the property has a threshold. Null: unknown, or without a bound. */
export interface Reach {
  players(): Promise<number | null> | number | null;
  cost(): Promise<number | null> | number | null;
}

/** The reach of what lets people in from now on. */
export const UNBOUNDED: Reach = { players: () => null, cost: () => null };

/** The questions of a call, as a proposal stores them. */
export interface AskedQuestion {
  facts: Readonly<Record<string, string>>;
  audience: number | null;
}

/** A call that waits for a person's approval. */
export interface ProposedCall {
  tool: string;
  input: Record<string, unknown>;
  asked: readonly AskedQuestion[];
  /** The credential of the proposing call. */
  proposed_by: { type: string; id: string | null };
}

/** The result of a proposed call, or the reasons why it is not the call that was proposed. */
export type CarriedOut =
  | { result: unknown; subject: { entity: string | null; entity_id: string | null } }
  | { stale: string[] };

/** A read of the records as a tried call would leave them: the name of a reading operation, and its input. */
export interface ReadBack {
  tool: string;
  input: Record<string, unknown>;
}

/** A proposed call as it would be now. */
export interface TriedCall {
  result: unknown;
  /** The answer of the read-back; null without one, and where the call cannot be done. */
  seen: unknown;
  sentences: string[];
  /** Empty: it is the call that was proposed. */
  stale: string[];
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
  /** A session token of a user with a proved identity, issued at `from` (Unix seconds) or later. */
  issueToken(userId: string, from?: number): Promise<string>;
  /** The session of a token that `issueToken` has made; null for any other text, and after the session's time. */
  sessionOf(token: string): Promise<Session | null>;
  /** The detached JWS of bytes; the keys at /.well-known/jwks.json verify it. */
  signDetached(bytes: Uint8Array): Promise<string>;
  /** Writes an event to the outbox in this transaction, for its subscribed endpoints. */
  emit(type: EventName, object: object, previous?: object): void;
  /** Puts a job on the queue in this transaction. */
  enqueue<Input>(job: JobReference<Input>, input: Input, options?: EnqueueOptions): void;
  /**
   * Leaves a row to the round trip of the commit; see `Last`. Where its statement fails with an error that `isStale`
   * knows, the call has read what is no longer so: it runs once more, and this is absent then.
   */
  writeLast?<Row>(
    write: Write<Row>,
    row: Row,
    options?: { locks?: boolean; isStale?(error: unknown): boolean },
  ): void;
  /**
   * Asks a person to agree first, where an agent calls. Any other call goes on. Answers the audience that a person was
   * shown with this question, by the confirmed preview or the proposal; null without one.
   */
  ask?(question: Question): number | null;
  /** Runs a proposed call in this transaction, as this call's actor. Only for operations that decide on proposals. */
  carryOut?(proposed: ProposedCall): Promise<CarriedOut>;
  /** The same, rolled back. `readBack` runs before the rollback. */
  tryOut?(proposed: ProposedCall, readBack?: ReadBack): Promise<TriedCall>;
  /** Sets the cursor of a list's next page. */
  goOn?(cursor: string): void;
  /** Sets the number of a list's rows on all pages. */
  counted?(total: number): void;
  /** Adds a sentence to the answer, on faces that have a place for it. */
  warn?(sentence: string): void;
  /**
   * Names the subject of an operation's audit row, where the result's `id` does not. In a job it does nothing: only
   * `writeAuditRow` makes an audit row there.
   */
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
