import { CONSENT_TEXTS, type Preference } from "#tools/preferences/preferences.ts";
import { readForm } from "./form.ts";
import { type MessageLink, type Mounting, mountMessageLink, propertyPage } from "./message-link.ts";
import { escapeHtml } from "./page.ts";

type Channel = Preference["channel"];

const NAMES: Record<Channel, string> = {
  email: "Email",
  sms: "Text messages",
  voice: "Phone calls",
  push: "Notifications in your browser",
};

const SAVED = "Saved. It takes effect at once.";

/** Mounts the page of a player's channels: GET shows them and changes nothing, POST saves. It needs no JavaScript. */
export function mountPreferences(mounting: Mounting): void {
  mountMessageLink(mounting, "/preferences", {
    async get(link) {
      const { preferences } = await link.run<{ preferences: Preference[] }>("get_preferences");
      return preferencesPage(link, preferences);
    },
    async post(link, c) {
      const { preferences: before } = await link.run<{ preferences: Preference[] }>("get_preferences");
      const form = await readForm(c);
      if (!form) return preferencesPage(link, before, "Nothing was saved. Please try again.");
      const changes = changesOf(form, before);
      if (changes.off.length === 0 && changes.on.length === 0) return preferencesPage(link, before, SAVED);
      const { preferences } = await link.run<{ preferences: Preference[] }>("save_preferences", changes);
      return preferencesPage(link, preferences, SAVED);
    },
  });
}

/**
 * The changes that a form asks for. A ticked channel is turned on only if the page showed it as off: sending an old
 * page again is no new consent.
 */
function changesOf(form: URLSearchParams, before: Preference[]): { off: Channel[]; on: Channel[] } {
  const everything = form.has("stop");
  const ticked = (channel: Channel) => !everything && form.getAll("on").includes(channel);
  const shownOff = (channel: Channel) => form.getAll("was_off").includes(channel);
  return {
    off: before.filter(({ channel, on }) => on && !ticked(channel)).map(({ channel }) => channel),
    on: before
      .filter(({ channel, can_turn_on }) => can_turn_on && ticked(channel) && shownOff(channel))
      .map(({ channel }) => channel),
  };
}

function preferencesPage({ property }: MessageLink, preferences: Preference[], notice?: string): Response {
  const name = escapeHtml(property.name);
  const rows = preferences.map((preference) => row(preference, property.name)).join("");
  const anyOn = preferences.some(({ on }) => on);
  const stop = anyOn
    ? `<button class="quiet" type="submit" name="stop" value="1">Stop everything</button>`
    : "";
  const canSave = anyOn || preferences.some(({ can_turn_on }) => can_turn_on);
  const save = canSave ? `<button type="submit">Save</button>` : "";
  return propertyPage(
    property,
    "Your preferences",
    `${notice ? `<p class="said" role="status">${escapeHtml(notice)}</p>` : ""}<p>How may ${name} send you offers and news?</p><form method="post"><fieldset><legend class="unseen">Channels</legend>${rows}</fieldset>${save}${stop}</form>`,
  );
}

function row({ channel, on, can_turn_on }: Preference, name: string): string {
  const fixed = !on && !can_turn_on;
  const text = can_turn_on ? CONSENT_TEXTS[channel]?.(name) : undefined;
  const hint = fixed ? "Off. Ask at the club desk to turn it on." : (text ?? "On. Untick it to stop.");
  const state = `${on ? " checked" : ""}${fixed ? " disabled" : ""}`;
  const shown = on ? "" : `<input type="hidden" name="was_off" value="${channel}">`;
  return `<div class="choice"><input type="checkbox" id="${channel}" name="on" value="${channel}" aria-describedby="${channel}-hint"${state}><label for="${channel}">${NAMES[channel]}</label><p class="soft" id="${channel}-hint">${escapeHtml(hint)}</p>${shown}</div>`;
}
