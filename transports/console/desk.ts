import type { Actor } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { HttpContext } from "#transports/http/handlers.ts";

export type User = Extract<Actor, { type: "user" }>;
export type Row = Record<string, unknown>;

/** A page of rows. */
export interface Rows {
  rows: Row[];
  /** The cursor of the next page. */
  next?: string | undefined;
}

/** A signed-in person at one of their properties. */
export interface Desk {
  c: HttpContext;
  user: User;
  property: Property;
  /** All properties of the person, by name. */
  properties: readonly { id: string; name: string }[];
  /** The role at the property. A platform admin has all rights everywhere. */
  role: string;
  /** The number of proposals that wait for a person. */
  waiting: Promise<number>;
  /** The token that each form carries. */
  token: string;
  /** The fields of the posted form; empty on other requests. */
  form: URLSearchParams;
  run<T = Row>(operation: string, input?: object): Promise<T>;
  list(table: string, input?: object): Promise<Rows>;
}
