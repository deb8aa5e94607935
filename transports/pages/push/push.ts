import { html } from "hono/html";
import { loggedFault } from "#runtime/faults.ts";
import { asObject } from "#runtime/operation/input.ts";
import type { PushState } from "#tools/push/push-page.ts";
import { shownName } from "#tools/themes/theme.ts";
import { readBody, readJson } from "#transports/http/body.ts";
import { WORKER_PATH } from "#transports/pages/frame/assets.ts";
import { type Html, UNSEEN } from "#transports/pages/frame/page.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import { mountPlayerLink, type PageVisit } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";

const MOST_BYTES = 16_384;

/** Mounts the page on which a player subscribes a browser to web push. Stopping works without a script. */
export function mountPush(mounting: Mounting): void {
  mountPlayerLink(mounting, "push", "get", "", show);
  mountPlayerLink(mounting, "push", "post", "", (visit) => subscribe(mounting, visit));
  mountPlayerLink(mounting, "push", "post", "/stop", stop);
  mountPlayerLink(mounting, "push", "get", "/app.webmanifest", manifest);
}

const languageOf = ({ speech: { language } }: PageVisit) => ({ language });

async function show(visit: PageVisit): Promise<Response> {
  return pushPage(visit, await visit.run<PushState>("show_push", languageOf(visit)));
}

/** The page's script posts the browser's subscription. */
async function subscribe({ service }: Mounting, visit: PageVisit): Promise<Response> {
  const { c, run } = visit;
  try {
    const body = readJson(c.req.header("content-type") ?? null, await readBody(c.req.raw, MOST_BYTES));
    const { endpoint, p256dh, auth, publicKey, agreed, ...shown } = asObject(body) as Record<string, unknown>;
    const { language } = { ...languageOf(visit), ...shown };
    await run("subscribe_push", { endpoint, p256dh, auth, publicKey, language, agreed: agreed === true });
    return answer(200, { ok: true });
  } catch (error) {
    const { code, status } = loggedFault(service.log, error, {
      path: "push",
      requestId: c.req.header("x-request-id") ?? "",
    });
    return answer(status, { code });
  }
}

function answer(status: number, body: object): Response {
  return Response.json(body, { status, headers: UNSEEN });
}

async function stop(visit: PageVisit): Promise<Response> {
  const state = await visit.run<PushState>("unsubscribe_push", languageOf(visit));
  return pushPage(visit, state, visit.speech.say("push_stopped"));
}

/** iPhones give notifications to pages on the Home Screen alone, and only with a manifest. */
async function manifest({ property, theme, here, speech }: PageVisit): Promise<Response> {
  const name = shownName(theme, property);
  const body = {
    name,
    short_name: name.slice(0, 30),
    start_url: here,
    scope: "/push/",
    display: "standalone",
    lang: speech.language,
  };
  return new Response(JSON.stringify(body), {
    headers: { "content-type": "application/manifest+json", ...UNSEEN },
  });
}

function pushPage(visit: PageVisit, state: PushState, notice?: string): Promise<Response> {
  const { speech, property, theme, here } = visit;
  const { say } = speech;
  const name = shownName(theme, property);
  const said = notice ? html`<p class="said" role="status">${notice}</p>` : "";
  if (!state.allowed) {
    const content = html`${said}<p>${say("push_barred")}</p>`;
    return playerPage(visit, { heading: say("push"), said: notice, content });
  }
  return playerPage(visit, {
    heading: say("push"),
    said: notice,
    content: html`${said}<p>${say("push_question", { name })}</p>${controls(visit, state)}`,
    manifest: `${here}/app.webmanifest`,
    scripts: ["push.js"],
    workers: true,
  });
}

/** Every state of the page. The script shows the one that holds for this browser. */
function controls({ speech, property, here }: PageVisit, state: PushState): Html {
  const { say, language } = speech;
  // A worker's scope is the property's: two casinos of one service have subscriptions of their own.
  const scope = `/push/of/${property.id}/`;
  const on = state.consented && state.browsers > 0 ? html`data-on` : "";
  const part = (name: string, content: Html) =>
    html`<div data-state="${name}" tabindex="-1" hidden>${content}</div>`;
  const stopping = html`<form method="post" action="${here}/stop"><button class="quiet" type="submit">${say("push_stop")}</button></form>`;
  return html`<div id="push" data-key="${state.public_key}" data-worker="${WORKER_PATH}" data-scope="${scope}" data-language="${language}" ${on}>${part(
    "off",
    html`<form data-turn="on"><p class="soft">${state.consent_text}</p><button type="submit">${say("push_start")}</button></form>`,
  )}${part("working", html`<p role="status">${say("push_working")}</p>`)}${part(
    "on",
    html`<p class="said" role="status">${say("push_on")}</p>`,
  )}${part("denied", html`<p>${say("push_denied")}</p>`)}${part("install", html`<p>${say("push_install")}</p>`)}${part(
    "unsupported",
    html`<p>${say("push_unsupported")}</p>`,
  )}${part("failed", html`<p role="alert">${say("push_failed")}</p>`)}<noscript><p>${say("push_noscript")}</p></noscript></div>${
    state.consented ? stopping : ""
  }`;
}
