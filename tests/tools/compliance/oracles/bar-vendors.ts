import { randomUUIDv7 } from "node:crypto";
import type { TestService } from "../../../support/service.ts";
import { type Posted, sendgrid, twilioPost } from "../../providers/vendor-signing.ts";
import type { Forged } from "./bar-acts.ts";

const TWILIO = { account_sid: `AC${"0".repeat(32)}`, auth_token: "token" };
const SENDGRID_EVENTS = {
  hard: { event: "bounce", type: "bounce", status: "5.1.1" },
  soft: { event: "bounce", type: "bounce", status: "4.2.2" },
  complained: { event: "spamreport" },
  unsubscribed: { event: "unsubscribe" },
};
const grid = sendgrid();
const stranger = sendgrid();

/** A property whose messages go to the mailbox; Twilio and SendGrid, by which it sent before, report to it still. */
export async function openVendors(service: TestService, propertyId: string, wrong: string[]) {
  const provider = async (channel: string, kind: string, more: object): Promise<string> => {
    const record = { channel, kind, name: `${kind} ${channel}`, ...more };
    return (await service.call("create_message_provider", record, propertyId)).id;
  };
  const former = async (channel: string, kind: string, credentials: object) =>
    `/api/callbacks/${kind}/${await provider(channel, kind, { credentials, is_active: false })}`;
  const twilio = await former("sms", "twilio", TWILIO);
  const mail = await former("email", "sendgrid", { api_key: "SG", webhook_public_key: grid.publicKey });
  const mailbox = await provider("email", "mailbox", { allows_gaming: true });
  await provider("sms", "mailbox", { allows_gaming: true });
  /** The requests that were taken. */
  const taken: { path: string; posted: Posted }[] = [];

  async function post(path: string, { body, headers }: Posted): Promise<number> {
    const { status } = await fetch(service.baseUrl + path, { method: "POST", body, headers });
    return status;
  }

  /** Posts what the vendor signed, or a forgery of it. Answers whether it was the vendor's. */
  async function report(path: string, posted: Posted, forged: Posted | null): Promise<boolean> {
    const status = await post(path, forged ?? posted);
    if (status !== (forged ? 401 : 200))
      wrong.push(`${path} with ${JSON.stringify(forged ?? posted)}: ${status}`);
    if (!forged) taken.push({ path, posted });
    return !forged;
  }

  return {
    /** The mailbox's provider of mails. */
    mailbox,
    text(phone: string, text: string, forged: Forged): Promise<boolean> {
      const form = { From: phone, To: "+18005550000", Body: text, MessageSid: `SM${randomUUIDv7()}` };
      const url = `${service.internals.config.baseUrl}${twilio}`;
      const signed = (given = form, token = TWILIO.auth_token) => twilioPost(url, given, token);
      const forgeries = {
        unsigned: () => unsigned(signed()),
        changed: () => ({ ...signed({ ...form, Body: "Thanks!" }), body: signed().body }),
        stranger: () => signed(form, "another token"),
      };
      return report(twilio, signed(), forged && forgeries[forged]());
    },
    tell(
      kind: keyof typeof SENDGRID_EVENTS,
      address: string,
      { times, forged }: { times: number; forged: Forged },
    ): Promise<boolean> {
      const event = { ...SENDGRID_EVENTS[kind], email: address, sg_event_id: randomUUIDv7() };
      const events = Array.from({ length: times }, () => event);
      const signed = grid.post(events);
      const forgeries = {
        unsigned: () => unsigned(signed),
        changed: () => ({ ...grid.post([{ ...event, event: "delivered" }]), body: signed.body }),
        stranger: () => stranger.post(events),
      };
      return report(mail, signed, forged && forgeries[forged]());
    },
    /** A vendor repeats what it has told, or somebody who has read it along. */
    async repeat(which: number): Promise<void> {
      const { path, posted } = taken[which % Math.max(1, taken.length)] ?? {};
      if (!path || !posted) return;
      const status = await post(path, posted);
      if (status !== 200) wrong.push(`${path} again: ${status}`);
    },
  };
}

function unsigned({ body, headers }: Posted): Posted {
  return { body, headers: { "content-type": headers["content-type"]! } };
}
