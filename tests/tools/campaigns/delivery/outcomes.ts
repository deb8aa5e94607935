import { identifier } from "#db/sql.ts";
import type { EmailMessage, SendOutcome } from "#runtime/channels/provider/channel.ts";
import { shifted } from "../../../support/database.ts";
import type { Scenario } from "../../../support/scenario.ts";
import type { TestService } from "../../../support/service.ts";

/** A vendor's answer that it refuses the message. */
export const failed = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "failed",
  code: "smtp_550",
  message: "no such mailbox",
});
/** The outcome of a message that the vendor may have. */
export const unclear = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "unknown",
  code: "no_answer",
  message: "timeout",
});

/** The values of a column of all sends, in their order. */
export async function column(scenario: Scenario, name: string): Promise<unknown[]> {
  const rows = await scenario.query(
    (sql) =>
      sql`select ${identifier(name)} as value from campaign_sends where property_id = ${scenario.id} order by id`,
  );
  return rows.map(({ value }) => value);
}

/** As if the time of all waiting messages and jobs had come. */
export async function dueNow(service: TestService, scenario: Scenario): Promise<void> {
  await scenario.query(
    (sql) => sql`
      update campaign_sends set scheduled_for = now()
      where property_id = ${scenario.id} and status in ('pending', 'deferred')`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
}

/** As if the messages had been claimed so many hours earlier. */
export async function hoursPass(service: TestService, scenario: Scenario, hours: number): Promise<void> {
  await scenario.query(
    (sql) => sql`
      update campaign_sends set claimed_at = ${shifted("claimed_at", `-${hours} hours`)} where property_id = ${scenario.id}`,
  );
  await service.internals.db.asSystem(
    (sql) => sql`
      update queue set run_at = run_at - make_interval(hours => ${hours}) where property_id = ${scenario.id}`,
  );
}

/** The objects of the events of a type. */
export function emitted(scenario: Scenario, type: string) {
  return scenario.query(
    (sql) => sql<{ object: Record<string, unknown> }[]>`
      select data -> 'object' as object from outbox where property_id = ${scenario.id} and type = ${type}`,
  );
}
