import type { User } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { HttpContext } from "#transports/http/handlers.ts";

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
  /** The address of the property's logo. */
  logo: Promise<string | null>;
  /** Whether the role may change anything. Each operation checks it too. */
  canWrite: boolean;
  /** The token that each form carries. */
  token: string;
  /** The answer to a form that no page of this desk has sent; null for one of its own. */
  refusal(fields: URLSearchParams): Promise<Response | null>;
  /** The fields of the posted form; empty on other requests. */
  form: URLSearchParams;
  run<T = Row>(operation: string, input?: object): Promise<T>;
  /** Runs an operation at most once for each shown form. */
  once<T = Row>(operation: string, input?: object): Promise<T>;
  /** The answer of an operation that writes a file, as a download. */
  file(operation: string, input?: object): Promise<Response>;
  list(table: string, input?: object): Promise<Rows>;
}

/** Whether the person manages people and limits. */
export function isAdmin({ role }: Desk): boolean {
  return role === "admin" || role === "platform_admin";
}
