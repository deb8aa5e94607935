import { createHash, randomUUID } from "node:crypto";
import { Fault, loggedFault, toFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import type { Call, User } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { acts, roleIn } from "#runtime/roles.ts";
import { themePaths } from "#tools/themes/theme.ts";
import { addressOf, USER_LIMIT } from "#transports/http/admission.ts";
import { attachment, bodyOf } from "#transports/http/file-body.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { cookieIn, setCookie } from "./cookies.ts";
import type { Desk } from "./desk.ts";
import { elsewherePage, faultPage, MOST_WAITING, nowherePage } from "./frame.ts";
import { formToken, hasFormToken, hereOf, isFromHere, propertyOfForm, wasShownTo } from "./guard.ts";
import { arrivalPage } from "./sign-in.ts";
import { earlierFormPage, redirect, refusedPage, signedOutFormPage, unreadablePage } from "./signed-out.ts";

/** The texts of a campaign or a template. */
const MOST_FORM_BYTES = 1_500_000;

/**
 * Mounts a page for signed-in people. A form changes something only if a page of ours has sent it. A page that
 * `readsItself` takes a file: it checks the form by `refusal` before it does anything with it. A form that is
 * `ofAnyProperty` does the same from every page.
 */
export function mountDesk(
  mounting: Mounting,
  method: "get" | "post",
  path: string,
  work: (desk: Desk) => Promise<Response>,
  { readsItself = false, ofAnyProperty = false }: { readsItself?: boolean; ofAnyProperty?: boolean } = {},
): void {
  const { app, service, control } = mounting;
  app[method](path, async (c) => {
    if (method === "post" && !isFromHere(c)) return refusedPage(c);
    const session = cookieIn(c, service, "console_session");
    if (session === undefined) return withoutSession(c);
    try {
      const actor = await control.sessions.verify(session);
      if (actor.type !== "user") return toSignIn(c);
      const allowance = await control.limiter.takeShared(actor.id, USER_LIMIT);
      if (!allowance.allowed) throw new Fault("rate_limited", { retryAfter: 60 });
      const isForm = method === "post" && !readsItself;
      const form = isForm ? await readForm(c, MOST_FORM_BYTES) : new URLSearchParams();
      if (form === null) return unreadablePage(c);
      const reader = { session, userId: actor.id };
      if (isForm && !hasFormToken(form, session)) {
        if (!wasShownTo(form, service.config, actor.id)) return refusedPage(c);
        const token = formToken(service.config, reader, propertyOfForm(form));
        return earlierFormPage(c, { form, token, email: actor.email });
      }
      const found = await deskOf(mounting, c, { user: actor, session, form });
      if (found === null) return nowherePage(c, actor.email, formToken(service.config, reader));
      const refused = isForm && !ofAnyProperty ? await found.refusal(form) : null;
      return refused ?? (await atDesk(found, FORMS.test(path) ? forWriters(work) : work));
    } catch (error) {
      const fault = loggedFault(service.log, error, { path: "console", requestId: "" });
      const isOver = fault.code === "invalid_credential" || fault.code === "credential_expired";
      return isOver ? toSignIn(c, [setCookie(service, "console_session", "", 0)]) : faultPage(c, fault);
    }
  });
}

/** The addresses of forms that make or change a record. */
const FORMS = /\/(?:new|edit)$/;

/** An analyst has no use for a form. */
function forWriters(work: (desk: Desk) => Promise<Response>): (desk: Desk) => Promise<Response> {
  return async (desk) => {
    if (!desk.canWrite) throw new Fault("insufficient_scope");
    return work(desk);
  };
}

async function atDesk(desk: Desk, work: (desk: Desk) => Promise<Response>): Promise<Response> {
  try {
    return await work(desk);
  } catch (error) {
    return faultPage(desk, toFault(error));
  }
}

function withoutSession(c: HttpContext): Response | Promise<Response> {
  const isLinked = c.req.method === "GET" && c.req.header("sec-fetch-site") === "cross-site";
  return isLinked ? arrivalPage(hereOf(c)) : toSignIn(c);
}

function toSignIn(c: HttpContext, cookies: readonly string[] = []): Response | Promise<Response> {
  if (c.req.method !== "GET") return signedOutFormPage(c, cookies);
  return redirect(`/console/sign-in?to=${encodeURIComponent(hereOf(c))}`, cookies);
}

const WAITING = { filters: { "status.eq": "waiting" }, select: "id", limit: MOST_WAITING + 1 };

interface SignedIn {
  user: User;
  session: string;
  form: URLSearchParams;
}

/** The person's desk at the chosen property, else at their first one. Null for a person of no property. */
async function deskOf(
  mounting: Mounting,
  c: HttpContext,
  { user, session, form }: SignedIn,
): Promise<Desk | null> {
  const { control, service, catalog } = mounting;
  const invoked = (name: string, input: object, propertyId?: string, once?: string): Promise<Outcome> => {
    const call = {
      idempotency: once === undefined ? undefined : onceOnly(name, once, input),
      actor: user,
      transport: "page" as const,
      requestId: randomUUID(),
      propertyId,
      ip: addressOf(control, c.env.incoming),
      userAgent: c.req.header("user-agent"),
    };
    return invoke(service, catalog.operations.get(name)!, call, input);
  };
  const properties = user.isPlatformAdmin
    ? JSON.parse((await invoked("list_properties", {})).body).properties
    : await propertiesOf(mounting, user);
  const wanted = cookieIn(c, service, "console_property");
  const chosen = properties.find(({ id }: { id: string }) => id === wanted) ?? properties[0];
  const property = chosen && (await service.directory.property(chosen.id));
  if (!property) return null;
  const role = roleIn(user, property.id);
  const list = async (name: string, input: object = {}) => {
    const { body, page } = await invoked(`list_${name}`, input, property.id);
    return { rows: JSON.parse(body), next: page?.nextCursor };
  };
  const desk: Desk = {
    c,
    user,
    property,
    waiting: list("proposals", WAITING).then(
      ({ rows }) => rows.length,
      () => 0,
    ),
    logo: invoked("get_property_theme", {}, property.id).then(logoIn(property), () => null),
    properties,
    role: user.isPlatformAdmin ? "platform_admin" : role!,
    canWrite: acts(role),
    token: formToken(service.config, { session, userId: user.id }, property.id),
    refusal: async (fields) => {
      if (!hasFormToken(fields, session)) return refusedPage(c);
      const of = propertyOfForm(fields);
      return of === property.id ? null : elsewherePage(desk, of);
    },
    form,
    once: async (name, input = {}) =>
      JSON.parse((await invoked(name, input, property.id, form.get("once") ?? undefined)).body),
    run: async (name, input = {}) => JSON.parse((await invoked(name, input, property.id)).body),
    file: async (name, input = {}) => download(name, await invoked(name, input, property.id)),
    list,
  };
  return desk;
}

function download(name: string, { file }: Outcome): Response {
  if (!file) throw new Error(`${name} answers no file`);
  return new Response(bodyOf(file.stream), {
    headers: {
      "content-type": file.contentType,
      "content-disposition": attachment(file),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}

const logoIn = (property: Property) => (theme: Outcome) =>
  themePaths(property.id, JSON.parse(theme.body)).logo;

async function propertiesOf({ service }: Mounting, { memberships }: User): Promise<Property[]> {
  const found = await Promise.all(memberships.map((one) => service.directory.property(one.property_id)));
  return found
    .filter((property) => property !== null && property !== undefined)
    .sort((one, other) => one.name.localeCompare(other.name));
}

/**
 * The key of a form that was shown once: the same form sent again answers as the first time. One that the person has
 * gone back to and filled in otherwise is new work.
 */
function onceOnly(name: string, once: string, input: object): NonNullable<Call["idempotency"]> {
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([name, input]))
    .digest();
  const content = fingerprint.toString("base64url");
  return { key: `console:${name}:${once.slice(0, 100)}:${content}`, fingerprint };
}
