import { z } from "zod";
import { HASH_FORM } from "#db/query/forms.ts";
import { internal, readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

export const PROPOSAL_STATUSES = ["waiting", "approved", "refused", "withdrawn", "expired", "stale"] as const;

const Proposer = z.object({ type: z.string(), id: z.uuid().nullable() });
const Asked = z.object({ facts: z.record(z.string(), z.string()), audience: z.int().nullable() });
const Outcome = z.object({ entity: z.string().nullable(), entity_id: z.uuid().nullable() });

export default table({
  name: "proposals",
  noun: "proposal",
  description:
    "A call that waits for a person's approval, because it reaches more players or costs more than the property lets go without. A signed-in manager approves or refuses it in the console. A waiting proposal has done nothing.",
  verbs: ["list", "get"],
  columns: {
    status: readable(
      z.enum(PROPOSAL_STATUSES).describe("stale: it was not done, because what it is about had changed"),
      { concise: true },
    ),
    tool: readable(z.string().describe("The proposed operation"), { concise: true, vocabulary: true }),
    title: readable(z.string()),
    input: readable(z.record(z.string(), z.unknown()).describe("Its arguments")),
    sentences: readable(z.array(z.string()).describe("The preview in words, as it was proposed")),
    shown_hash: readable(z.string().describe("SHA-256 of what people are shown; the audit log has it too"), {
      form: HASH_FORM,
    }),
    players: readable(z.int().nullable().describe("Players that it reaches; null: without a known limit"), {
      concise: true,
    }),
    cost: readable(z.number().nullable().describe("At most; null: not known, or the property has no limit")),
    reasons: readable(z.array(z.string()).describe("Why a person must approve it")),
    proposed_by: readable(Proposer.describe("The credential of the proposing call")),
    client: readable(z.string().nullable().describe("The agent's own name, or the way in"), {
      vocabulary: true,
    }),
    decided_by: readable(z.uuid().nullable().describe("The user who approved or refused it")),
    decided_by_email: readable(z.string().nullable().describe("That user's email at the time")),
    decided_at: readable(timestamp().nullable(), { concise: true }),
    reason: readable(z.string().nullable().describe("Why it was refused, or is stale"), { concise: true }),
    result: readable(Outcome.nullable().describe("The record that the approved call was about")),
    expires_at: readable(timestamp().describe("Not approved by then, it is not done"), { concise: true }),
    asked: internal(z.array(Asked)),
    proposed_for: internal(z.uuid().nullable()),
    checked_at: internal(timestamp().nullable()),
  },
});
