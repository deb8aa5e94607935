import { isUuid } from "#db/text.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Directory } from "#runtime/identity/directory.ts";
import type { Access, Actor, Call, Scope, User } from "#runtime/operation/context.ts";
import { PROPERTY_FIELD } from "#runtime/operation/input.ts";
import { mayAsk, type Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { ACTING_ROLES, acts, type Membership, type Role, roleIn } from "#runtime/roles.ts";

/** A list of properties in a message ends here. */
const MOST_NAMED = 50;

/** Refuses a call that the actor may make in no property. Later checks depend on the property. */
export function checkAccess(operation: Operation, call: Call): void {
  checkScope(operation, call.actor);
  checkPerson(operation, call);
}

/** Refuses a call of an operation for people by a key, an agent or a command line. */
function checkPerson({ access }: Operation, call: Call): void {
  if (access === "person" && !isPerson(call)) throw roleFault("person");
}

/** Whether a signed-in person makes the call in a page or a program of their own. */
function isPerson({ actor, transport }: Call): boolean {
  return actor.type === "user" && (transport === "rest" || transport === "page");
}

function checkScope(operation: Operation, actor: Actor): void {
  if (operation.access === "public" || actor.type === "system") return;
  if (actor.type === "anonymous") throw new Fault("missing_credential");
  if (actor.type === "api_key") {
    if (isPersonal(operation)) {
      throw new Fault("invalid_credential", { details: [{ field: "credential", message: PERSONAL }] });
    }
    if (!actor.scopes.includes(operation.scope)) throw scopeFault(operation);
    if (operation.access !== "property") throw roleFault(operation.access);
    return;
  }
  if (!actor.isPlatformAdmin) checkRoles(operation, actor.memberships);
}

/** Refuses a user who has the operation's role in no property. */
function checkRoles(operation: Operation, memberships: readonly Membership[]): void {
  const { access, scope } = operation;
  if (access === "operator") throw roleFault(access);
  const writes = scope === "write" && needsProperty(operation);
  if (writes && memberships.length > 0 && !memberships.some(({ role }) => acts(role))) {
    throw scopeFault(operation);
  }
  const roles = PERMITTED_ROLES[access];
  if (roles && !memberships.some(({ role }) => roles.includes(role))) {
    throw roleFault(access === "admin" ? "admin" : "manager");
  }
}

const PERMITTED: Record<Exclude<Access, "property" | "public">, string> = {
  manager: "a signed-in admin or manager of the property",
  admin: "a signed-in admin of the property",
  person: "a signed-in admin or manager of the property, in the console or over REST,",
  operator: "a platform admin",
  user: "a signed-in user",
};

/** The scope and the role that a credential needs for the operation, in words. */
export function requirementOf({ scope, access }: Operation): string {
  const needed = `the scope ${scope}`;
  if (access === "property" || access === "public") return needed;
  return `${needed}, as ${PERMITTED[access].replace(/,$/, "")}`;
}

function scopeFault({ scope }: Pick<Operation, "scope">): Fault {
  const message = `lacks the scope ${scope}: use one that has it`;
  return new Fault("insufficient_scope", { details: [{ field: "credential", message }] });
}

/** The missing right is a role, not a scope: an API key with all scopes is refused too. */
function roleFault(access: keyof typeof PERMITTED): Fault {
  const others = access === "person" ? "no API key, agent or command line may" : "an API key may not";
  return new Fault("forbidden", {
    message: `Only ${PERMITTED[access]} may do this; ${others}, even with all scopes.`,
  });
}

/** Whether the specification declares the operation for signed-in users alone: no API key is a credential there. */
export function isPersonal({ access, realm, core }: Operation): boolean {
  return realm === "system" && (access === "user" || (access === "manager" && core));
}

const PERSONAL =
  "is an API key, and this is for a signed-in user: sign in, and send the token as a Bearer token";

/** The scopes that an actor has in a property. */
export function scopesIn(actor: Actor, propertyId: string): readonly Scope[] {
  if (actor.type === "api_key") return actor.propertyId === propertyId ? actor.scopes : [];
  if (actor.type === "anonymous") return [];
  if (actor.type === "system") return ["read", "write"];
  const role = roleIn(actor, propertyId);
  if (role === null) return [];
  return acts(role) ? ["read", "write"] : ["read"];
}

/** Refuses a change of records that a filter, a key or a name finds to an actor who may not read: it answers them. */
export function checkReads(actor: Actor, propertyId: string): void {
  if (!scopesIn(actor, propertyId).includes("read")) throw scopeFault({ scope: "read" });
}

/** The field that names the property: the operation's own, or `property_id`, which every call in a property takes. */
function tenantField({ property, realm }: Operation): string | null {
  return property ?? (realm === "property" ? PROPERTY_FIELD : null);
}

/**
 * The one property that a call is about. A property that the credential does not have is `wrong_property`,
 * whether or not it exists.
 */
export async function resolveProperty(
  directory: Directory,
  operation: Operation,
  call: Call,
  inputs: readonly Record<string, unknown>[],
): Promise<Property> {
  const field = tenantField(operation);
  const named = field === null ? [] : inputs.map((input) => input[field]);
  const candidates = [...named, call.propertyId].filter((id) => id !== undefined && id !== null);
  for (const id of candidates) {
    if (!isUuid(id)) {
      throw invalid(named.includes(id) ? (field ?? "property") : "X-Property-Id", "must be a uuid");
    }
  }
  const ids = new Set(candidates.map((id) => String(id).toLowerCase()));
  if (ids.size > 1) throw new Fault("wrong_property");
  const [wanted] = ids;
  const id = wanted ?? (await onlyProperty(directory, call.actor));
  if (call.actor.type !== "system" && scopesIn(call.actor, id).length === 0)
    throw new Fault("wrong_property");
  const property = await directory.property(id);
  if (!property) throw new Fault(call.actor.type === "system" ? "not_found" : "wrong_property");
  if (!scopesIn(call.actor, id).includes(operation.scope)) throw scopeFault(operation);
  if (call.actor.type === "user") requireRole(operation.access, call.actor, id);
  return property;
}

const PERMITTED_ROLES: Partial<Record<Access, readonly Role[]>> = {
  manager: ACTING_ROLES,
  admin: ["admin"],
  person: ACTING_ROLES,
};

function requireRole(access: Access, user: User, propertyId: string): void {
  const roles = PERMITTED_ROLES[access];
  if (roles === undefined) return;
  const role = roleIn(user, propertyId);
  if (role === null || !roles.includes(role)) throw roleFault(access === "admin" ? "admin" : "manager");
}

/** The property of a call where no look-up is needed: the key's own, the named one, or the user's only one. */
export function tenantOf({ actor, propertyId }: Call): string | undefined {
  if (actor.type === "api_key") return actor.propertyId;
  if (propertyId !== undefined || actor.type !== "user" || actor.memberships.length !== 1) return propertyId;
  return actor.memberships[0]!.property_id;
}

/** The input of a call about the property: with the operation's own field that names it filled in, else without it. */
export function inProperty(
  { property: field }: Operation,
  input: Record<string, unknown>,
  propertyId: string,
): Record<string, unknown> {
  if (field !== null) return { ...input, [field]: propertyId };
  if (!Object.hasOwn(input, PROPERTY_FIELD)) return input;
  const { property_id: _, ...rest } = input;
  return rest;
}

/** The input with the property in the field that names it, where the caller has left that out. */
export function withTenant(
  { property: field }: Operation,
  input: Record<string, unknown>,
  propertyId: string | undefined,
): Record<string, unknown> {
  if (field === null || propertyId === undefined || input[field] !== undefined) return input;
  return { ...input, [field]: propertyId };
}

async function onlyProperty(directory: Directory, actor: Actor): Promise<string> {
  if (actor.type === "api_key") return actor.propertyId;
  const list = await propertiesOf(directory, actor);
  if (list.length === 1) return list[0]!;
  if (list.length === 0) {
    throw new Fault("forbidden", { message: "You are a member of no property yet. An admin can add you." });
  }
  const known = list.slice(0, MOST_NAMED).join(", ");
  throw invalid("X-Property-Id", `names the property to work in; required here, one of ${known}`);
}

/** The properties that an actor may work in: a platform admin in all. */
async function propertiesOf(directory: Directory, actor: Actor): Promise<string[]> {
  if (actor.type === "system" || (actor.type === "user" && actor.isPlatformAdmin))
    return directory.properties();
  return actor.type === "user" ? actor.memberships.map((membership) => membership.property_id) : [];
}

/** The credential of a call, by which its writes and reads are recognized. */
export function callerOf({ actor }: Call): string {
  return `${actor.type} ${actor.id}`;
}

/** The call, masked where its face says so, and where the property masks for analysts and one has signed in. */
export function withMasking(call: Call, property: Property | null): Call {
  if (call.masked || !property?.mask_for_analysts || !isAnalyst(call.actor, property.id)) return call;
  return { ...call, masked: true };
}

function isAnalyst(actor: Actor, propertyId: string): boolean {
  return actor.type === "user" && roleIn(actor, propertyId) === "analyst";
}

/**
 * Whether the property limits the reach of this call. Signed-in people act at once, but not under four eyes. An agent
 * over MCP is no person, even with a person's credential.
 */
export function isWeighed({ operation, call, property }: ResolvedCall): boolean {
  if (!property || operation.realm !== "property") return false;
  // A written record can change what people have approved, also where its own handler asks nothing.
  if (!mayAsk(operation) && !operation.afterwards) return false;
  if (operation.access !== "property" && operation.access !== "manager") return false;
  if (call.review === "approved" || !hasThreshold(property)) return false;
  return property.approval_four_eyes === "on" || !isPerson(call);
}

interface ResolvedCall {
  operation: Operation;
  call: Call;
  property: Property | null;
}

function hasThreshold({ approval_over_players, approval_over_cost }: Property): boolean {
  return approval_over_players !== null || approval_over_cost !== null;
}

/** Whether the operation works in a property. */
export function needsProperty(operation: Operation): boolean {
  return operation.realm === "property" || operation.property !== null;
}
