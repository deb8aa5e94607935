import { z } from "zod";

/** A setting that is a whole number. */
export function whole(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  return z.coerce.number({ error }).int({ error }).min(least, { error }).max(most, { error });
}

/** Whole months that rows are kept, by their kind. */
export interface Retention {
  audit_logs: number;
  mailbox_messages: number;
  webhooks: number;
}

export const retentionSettings = {
  RETENTION_AUDIT_MONTHS: whole(60, 1_200)
    .default(84)
    .describe(
      "Whole months that audit rows are kept. At least 60: casinos keep records for five years (31 CFR 1010.430).",
    ),
  RETENTION_MAILBOX_MONTHS: whole(1, 1_200)
    .default(24)
    .describe("Whole months that messages of the built-in mailbox are kept."),
  RETENTION_WEBHOOK_MONTHS: whole(1, 1_200)
    .default(1)
    .describe("Whole months that events for webhooks and their deliveries are kept."),
};

export function retentionOf(env: Record<keyof typeof retentionSettings, number>): Retention {
  return {
    audit_logs: env.RETENTION_AUDIT_MONTHS,
    mailbox_messages: env.RETENTION_MAILBOX_MONTHS,
    webhooks: env.RETENTION_WEBHOOK_MONTHS,
  };
}
