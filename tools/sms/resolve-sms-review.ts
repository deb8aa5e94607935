import { z } from "zod";
import { Fault, one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { revoke, revokedWith } from "#tools/consent/revoke.ts";
import { lockNumber } from "./inbound.ts";
import { REVIEW_DECISIONS, settleReviews } from "./reviews.ts";

export default tool({
  name: "resolve_sms_review",
  title: "Resolve an inbound text's review",
  description:
    "Decides the review of a text. revoke treats it as STOP for the number. release lets sends to the number continue once no text of it waits for review. Only a signed-in admin or manager may release, because the text may be meant to mislead; anyone with write may revoke.",
  scope: "write",
  effect: "change",
  asks: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    messageId: z.uuid().describe("From list_inbound_messages with needs_review true"),
    decision: z.enum(REVIEW_DECISIONS).describe("revoke: the text is a STOP. release: it is none"),
  },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found", "conflict"],
  async handler(context, { messageId, decision }) {
    const message = await waiting(context, messageId);
    const sender = { address: message.sender, hash: message.sender_hash };
    context.ask?.({ state: `${messageId} ${decision}`, sentences: () => [WORDS[decision]] });
    if (decision === "release") {
      checkPerson(context);
      await settleReviews(context, sender, "release", messageId);
    } else {
      await revoke(context, {
        address: sender,
        channels: revokedWith(context, "sms"),
        method: "stop_keyword",
        source: "sms",
        requestedAt: message.received_at,
      });
      await settleReviews(context, sender, "revoke", null);
    }
    context.audit({ entity: "inbound_messages", entityId: messageId, diff: { decision } });
    return { success: true as const };
  },
});

const WORDS = {
  release: "This ends the review of a text: messages may go to its number again.",
  revoke: "This ends the review of a text as STOP: its number gets no more texts and calls.",
} as const;

interface Waiting {
  sender: string;
  sender_hash: Buffer;
  needs_review: boolean;
  received_at: string;
}

/** Locks the number before its text, in the same order as a new text does. */
async function waiting(context: Context, id: string): Promise<Waiting> {
  const { sql, property } = context;
  const [known] = await sql<{ hash: Buffer | null }[]>`
    select sender_hash as hash from inbound_messages where property_id = ${property.id} and id = ${id}`;
  if (known?.hash) await lockNumber(context, { hash: known.hash });
  const messages = await sql<Waiting[]>`
    select coalesce(sender, '') as sender, sender_hash, needs_review, to_json(received_at) #>> '{}' as received_at
    from inbound_messages where property_id = ${property.id} and id = ${id} for update`;
  const message = one(messages, "inbound message", id);
  if (!message.needs_review || !message.sender_hash) {
    throw new Fault("conflict", { message: "This text does not wait for review." });
  }
  return message;
}

function checkPerson({ call }: Context): void {
  if (call.actor.type === "user" || call.actor.type === "system") return;
  throw new Fault("conflict", {
    message:
      "Only a signed-in admin or manager can read the text and release the number. An API key can only revoke.",
  });
}
