import type { Rule } from "./rules.ts";

interface Allowance {
  rule: Rule;
  /** Words of the statement, with single spaces, by which it is known. */
  words: string;
  reason: string;
}

const SWEPT = "a sweep over all properties: one statement on every shard costs less than one a property";
const SCOPED = "a sweep over all scopes, of which some are users and no list has them all";

/** Statements that break a rule, and why each may. */
export const ALLOWED: readonly Allowance[] = [
  { rule: "G", words: "delete from uploads u where u.created_at <", reason: SWEPT },
  { rule: "G", words: "delete from import_errors e using import_jobs j", reason: SWEPT },
  { rule: "G", words: "delete from validation_results r using validation_jobs j", reason: SWEPT },
  { rule: "G", words: "delete from provider_notices where received_at <", reason: SWEPT },
  { rule: "G", words: 'select property_id, id from "import_jobs" where status in', reason: SWEPT },
  { rule: "G", words: 'select property_id, id from "validation_jobs" where status in', reason: SWEPT },
  {
    rule: "G",
    words: "select property_id, id, status from campaigns c where deleted_at is null and",
    reason: SWEPT,
  },
  { rule: "G", words: "select j.property_id, j.id from journeys j where j.status =", reason: SWEPT },
  { rule: "G", words: "select distinct property_id as id from proposals where status =", reason: SWEPT },
  { rule: "G", words: "delete from idempotency_records where (property_id, key) in", reason: SCOPED },
  { rule: "G", words: "delete from agent_confirmations where (property_id, id) in", reason: SCOPED },
  {
    rule: "G",
    words: "select property_id, channel, credentials from message_providers where id =",
    reason: "a vendor's callback names its provider alone, so the property is what is asked for",
  },
];
