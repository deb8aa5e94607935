import type { Preference } from "#tools/preferences/preferences.ts";
import { isErased, isUnsubscribed } from "#tools/preferences/unsubscribe.ts";
import { type MessageLink, type Mounting, mountMessageLink, propertyPage } from "./message-link.ts";
import { escapeHtml } from "./page.ts";

/**
 * Mounts the page of unsubscribe links. GET changes nothing; POST acts at once, whatever its body is
 * (RFC 8058: no redirect, no cookie).
 */
export function mountUnsubscribe(mounting: Mounting): void {
  mountMessageLink(mounting, "/u", {
    async get(link) {
      if (await link.read((tenant) => isErased(tenant, link.sendId))) return erasedPage(link);
      const { preferences } = await link.run<{ preferences: Preference[] }>("get_preferences");
      const email = preferences.find(({ channel }) => channel === "email");
      return email?.on ? askPage(link) : donePage(link);
    },
    async post(link) {
      if (await link.read((tenant) => isErased(tenant, link.sendId))) return erasedPage(link);
      // A message can be forwarded, and its link used again and again: a repeat adds nothing to the ledgers.
      if (!(await link.read((tenant) => isUnsubscribed(tenant, link.sendId)))) await link.run("unsubscribe");
      return donePage(link);
    },
  });
}

/** Records nothing: the erasure barred the address, and the link no longer knows it. */
function erasedPage({ property }: MessageLink): Response {
  const name = escapeHtml(property.name);
  return propertyPage(
    property,
    "The data about this message was erased",
    `<p>${name} has erased the data of this email's recipient and sends no more marketing email to that address. The address is no longer known, so this link changes nothing.</p><p class="soft">Do you still get email from ${name}? Use the link in that email.</p>`,
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
