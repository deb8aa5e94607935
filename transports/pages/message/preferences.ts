import { html } from "hono/html";
import { consentTextOf } from "#tools/consent/page-texts.ts";
import { readUnsubscribeToken } from "#tools/player-links/links.ts";
import type { Preference } from "#tools/preferences/preferences.ts";
import { shownName } from "#tools/themes/theme.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { type House, playerPage } from "#transports/pages/frame/player-page.ts";
import { answerVisit, tokenOf } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import type { Speech } from "#transports/pages/words/words.ts";
import { answerMessageLink } from "./message-link.ts";

type Channel = Preference["channel"];

/** The holder of a message's link, or of a player's own link. */
interface Holder extends House {
  run<T>(operation: string, input?: object): Promise<T>;
}

const PATH = "/preferences";

/** Mounts the page of a player's channels: GET shows them and changes nothing, POST saves. It needs no JavaScript. */
export function mountPreferences(mounting: Mounting): void {
  for (const method of ["get", "post"] as const) {
    mounting.app[method](`${PATH}/:token{.+}`, (c) => {
      const answer = (holder: Holder) => (method === "get" ? show(holder) : save(holder, c));
      const ofMessage = readUnsubscribeToken(mounting.service.config, tokenOf(c)) !== null;
      if (ofMessage) return answerMessageLink(mounting, PATH, c, answer);
      return answerVisit(mounting, "preferences", c, answer);
    });
  }
}

async function show(holder: Holder): Promise<Response> {
  const { preferences } = await holder.run<{ preferences: Preference[] }>("get_preferences");
  return preferencesPage(holder, preferences);
}

async function save(holder: Holder, c: HttpContext): Promise<Response> {
  const { preferences: before } = await holder.run<{ preferences: Preference[] }>("get_preferences");
  const form = await readForm(c);
  const { say } = holder.speech;
  if (!form) return preferencesPage(holder, before, say("preferences_unsaved"));
  const changes = changesOf(form, before);
  const saved = say("preferences_saved");
  if (changes.off.length === 0 && changes.on.length === 0) return preferencesPage(holder, before, saved);
  const { preferences } = await holder.run<{ preferences: Preference[] }>("save_preferences", {
    ...changes,
    language: form.get("language") ?? holder.speech.language,
  });
  return preferencesPage(holder, preferences, saved);
}

/**
 * The changes that a form asks for. "Stop everything" refuses channels too that are off for other reasons, which may end.
 * A ticked channel is turned on only if the page showed it as off: sending an old page again is no new consent.
 */
function changesOf(form: URLSearchParams, before: Preference[]): { off: Channel[]; on: Channel[] } {
  const everything = form.has("stop") && before.some(({ on }) => on);
  const ticked = (channel: Channel) => !everything && form.getAll("on").includes(channel);
  const shownOff = (channel: Channel) => form.getAll("was_off").includes(channel);
  return {
    off: before
      .filter(({ channel, on }) => (on || everything) && !ticked(channel))
      .map(({ channel }) => channel),
    on: before
      .filter(({ channel, can_turn_on }) => can_turn_on && ticked(channel) && shownOff(channel))
      .map(({ channel }) => channel),
  };
}

function preferencesPage(holder: Holder, preferences: Preference[], notice?: string): Promise<Response> {
  const { say } = holder.speech;
  const name = shownName(holder.theme, holder.property);
  const anyOn = preferences.some(({ on }) => on);
  const canSave = anyOn || preferences.some(({ can_turn_on }) => can_turn_on);
  return playerPage(holder, {
    heading: say("preferences"),
    said: notice,
    content: html`${notice ? html`<p class="said" role="status">${notice}</p>` : ""}<p>${say("preferences_question", { name })}</p><form method="post"><input type="hidden" name="language" value="${holder.speech.language}"><fieldset><legend class="unseen">${say("channels")}</legend>${preferences.map((one) => row(one, name, holder.speech))}</fieldset>${
      canSave ? html`<button type="submit">${say("save")}</button>` : ""
    }${anyOn ? html`<button class="quiet" type="submit" name="stop" value="1">${say("stop_everything")}</button>` : ""}</form>`,
  });
}

function row({ channel, on, can_turn_on }: Preference, name: string, { say, language }: Speech): Html {
  const fixed = !on && !can_turn_on;
  // The ledger keeps the text that the player has agreed to, so it is shown as it is kept.
  const asks = can_turn_on && channel === "email";
  const hint = asks ? consentTextOf(channel, language, name).text : say(fixed ? "channel_off" : "channel_on");
  return html`<div class="choice"><input type="checkbox" id="${channel}" name="on" value="${channel}" aria-describedby="${channel}-hint" ${on ? html`checked` : ""} ${fixed ? html`disabled` : ""}><label for="${channel}">${say(`channel_${channel}`)}</label><p class="soft" id="${channel}-hint">${hint}</p>${
    on ? "" : html`<input type="hidden" name="was_off" value="${channel}">`
  }</div>`;
}
