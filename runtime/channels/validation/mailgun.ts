import { z } from "zod";
import { callApi } from "../provider/vendor-api.ts";

/** The key and the address of the API. Mailgun's European region has another address. */
export interface ValidationApi {
  url: string;
  key: string;
}

/** A mailbox as the vendor knows it. */
export interface Mailbox {
  result: "deliverable" | "undeliverable" | "do_not_send" | "catch_all" | "unknown";
  risk: "low" | "medium" | "high" | "unknown";
  /** The vendor says that the mailbox takes no more for now. */
  isFull: boolean;
  didYouMean: string | null;
}

/** The vendor refuses the key: no later try can succeed. */
export class ValidationRefused extends Error {}

const Answer = z.object({
  result: z.enum(["deliverable", "undeliverable", "do_not_send", "catch_all", "unknown"]).catch("unknown"),
  risk: z.enum(["low", "medium", "high", "unknown"]).catch("unknown"),
  reason: z.union([z.string(), z.array(z.string())]).catch([]),
  did_you_mean: z.string().nullish().catch(null),
});

/**
 * Asks Mailgun for a mailbox (GET /v4/address/validate). Throws `ValidationRefused` for refused credentials, and another
 * error where a later try may succeed.
 */
export async function askMailbox({ url, key }: ValidationApi, address: string): Promise<Mailbox> {
  const target = new URL(url);
  target.searchParams.set("address", address);
  const authorization = `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;
  const reply = await callApi(new Request(target, { headers: { authorization } }));
  if (!("status" in reply)) throw new Error(`The validation provider did not answer: ${reply.message}`);
  if (reply.status === 401 || reply.status === 402 || reply.status === 403) {
    throw new ValidationRefused(`The validation provider refused the key (${reply.status}).`);
  }
  if (reply.status !== 200) throw new Error(`The validation provider answered ${reply.status}.`);
  const { result, risk, reason, did_you_mean } = Answer.parse(reply.body);
  const reasons = [reason].flat().join(" ");
  return { result, risk, isFull: /full|quota/i.test(reasons), didYouMean: did_you_mean || null };
}
