import type { Preference } from "#tools/campaigns/preferences.ts";
import { isErased, isUnsubscribed } from "#tools/campaigns/unsubscribe.ts";
import { type MessageLink, mountMessageLink, propertyPage } from "./message-link.ts";
import { escapeHtml } from "./page.ts";

/**
 * The page behind every unsubscribe link: GET shows and changes nothing, POST acts at once, whatever its body says
 * (RFC 8058: no redirect, no cookie).
 */
export function mountUnsubscribe(place: Parameters<typeof mountMessageLink>[0]): void {
  mountMessageLink(place, "/u", {
    async get(link) {
      if (await link.ask((about) => isErased(about, link.sendId))) return erasedPage(link);
      const { preferences } = await link.run<{ preferences: Preference[] }>("get_preferences");
      const email = preferences.find(({ channel }) => channel === "email");
      return email?.on ? askPage(link) : donePage(link);
    },
    async post(link) {
      if (await link.ask((about) => isErased(about, link.sendId))) return erasedPage(link);
      // Anybody who has the message may ask again and again: a repeat leaves nothing in the ledgers.
      if (!(await link.ask((about) => isUnsubscribed(about, link.sendId)))) await link.run("unsubscribe");
      return donePage(link);
    },
  });
}

/** Nothing is recorded: the address has been barred with the erasure, and the link does not know it any more. */
function erasedPage({ property }: MessageLink): Response {
  const name = escapeHtml(property.name);
  return propertyPage(
    property,
    "The data about this message was erased",
    `<p>Whoever this email was for had their data erased at ${name}, and gets no more marketing email. The address that it went to is not known any more, so this link changes nothing.</p><p class="soft">Does email from ${name} reach you all the same? Use the link in that email.</p>`,
  );
}

function askPage({ property, token }: MessageLink): Response {
  const name = escapeHtml(property.name);
  return propertyPage(
    property,
    "Stop these emails?",
    `<p>You will get no more marketing email from ${name}. It takes effect at once.</p><form method="post"><button type="submit">Unsubscribe</button></form><p class="soft"><a href="/preferences/${token}">Choose what you get instead</a></p>`,
  );
}

function donePage({ property, token }: MessageLink): Response {
  const name = escapeHtml(property.name);
  return propertyPage(
    property,
    "You are unsubscribed",
    `<p>${name} will send you no more marketing email.</p><p class="soft">Changed your mind, or had enough of other messages too? <a href="/preferences/${token}">See your preferences</a></p>`,
  );
}
