import { type Endpoint, type Owed, WAITS } from "./book.ts";
import type { Casino } from "./casino.ts";

const MOST_LISTED = 50;
/** Seconds between an attempt's begin and its record, on a busy machine. */
const SLACK = 20;
/** The seconds that MOODS' receivers ask for. */
const ASKED: Record<number, number> = { 429: 40, 503: 900 };

/** Compares the record of all deliveries with the book, once the due jobs have run. */
export async function checkRecords(casino: Casino): Promise<void> {
  const { book, scenario, complain } = casino;
  for (const endpoint of book.endpoints.filter(({ isDeleted }) => isDeleted)) {
    const listed = await casino.listed(endpoint);
    if (listed.length > 0) complain("a deleted endpoint's deliveries are listed");
  }
  for (const endpoint of book.endpoints.filter(({ isDeleted }) => !isDeleted)) {
    const name = `endpoint ${book.endpoints.indexOf(endpoint)}`;
    const shown = await scenario.call("get_webhook_endpoint", { id: endpoint.id });
    if (shown.is_active !== endpoint.is_active) complain(`${name}: is_active is ${shown.is_active}`);
    if ((shown.failing_since !== null) !== endpoint.isFailing)
      complain(`${name}: failing since ${shown.failing_since}`);
    const rows = new Map((await casino.listed(endpoint)).map((row) => [row.event_id, row]));
    for (const owed of book.of(endpoint)) {
      const row = rows.get(owed.event.id);
      rows.delete(owed.event.id);
      const difference = row ? unlike(row, owed) : "has no record";
      if (row && row.id !== (casino.knownId(endpoint, owed.event.id) ?? row.id))
        complain(`${name}, ${owed.event.type}: the receiver got another id than ${row.id}`);
      if (difference) complain(`${name}, ${owed.event.type} ${owed.event.id}: ${difference}`);
    }
    for (const { event_id } of rows.values())
      complain(`${name} has a record of ${event_id}, which it is not owed`);
    await checkLeft(casino, endpoint, name);
  }
}

type Row = Awaited<ReturnType<Casino["listed"]>>[number];

function unlike(row: Row, owed: Owed): string | null {
  const codes = row.attempts.map(({ status_code }) => status_code);
  const seen = { status: row.status, count: row.attempt_count, codes };
  const wanted = { status: owed.status, count: owed.count, codes: owed.codes.slice(-MOST_LISTED) };
  if (JSON.stringify(seen) !== JSON.stringify(wanted))
    return `${JSON.stringify(seen)} in place of ${JSON.stringify(wanted)}`;
  if (owed.status !== "pending") return row.next_attempt_at === null ? null : `${owed.status}, and due again`;
  if (row.next_attempt_at === null) return "pending without a time";
  return owed.isDue || owed.count === 0 ? null : early(row, owed);
}

/** Whether the next attempt is not at the time that the schedule and the receiver name. */
function early({ attempts, next_attempt_at }: Row, owed: Owed): string | null {
  const seconds = (Date.parse(next_attempt_at!) - Date.parse(attempts.at(-1)!.at)) / 1000;
  const asked = ASKED[owed.codes.at(-1) ?? 0] ?? 0;
  const wait = WAITS[owed.count]!;
  const [least, most] = [Math.max(wait * 0.8, asked), Math.max(wait * 1.2, asked)];
  if (seconds >= least - 0.01 && seconds <= most + SLACK) return null;
  return `attempt ${owed.count + 1} comes after ${seconds} s, and not after ${least} to ${most} s`;
}

/** A receiver that is well is owed nothing that is due. */
async function checkLeft({ book, asTenant, complain, property }: Casino, endpoint: Endpoint, name: string) {
  const due = book.of(endpoint).filter(({ status, isDue }) => status === "pending" && isDue);
  if (due.length === 0 || !endpoint.is_active) return;
  const [{ rests }] = (await asTenant(
    (sql) => sql`
      select coalesce(resting_until > now(), false) as rests from webhook_endpoints
      where property_id = ${property} and id = ${endpoint.id}`,
  )) as unknown as [{ rests: boolean }];
  if (!rests) complain(`${name}: ${due.length} deliveries are due, and no job makes them`);
}
