import { randomUUID } from "node:crypto";
import type { ChosenProvider, Sender } from "#runtime/channels/index.ts";
import {
  type EmailMessage,
  each,
  type SendOutcome,
  type StoreMessages,
} from "#runtime/channels/provider/channel.ts";
import { jobContexts } from "#runtime/jobs/job-context.ts";
import type { Job, JobContext, JobRuntime } from "#runtime/operation/job.ts";
import { CATALOG } from "#tools/catalog.ts";
import type { TestService } from "./service.ts";

/** A delivery that never ends fails by the number of its tries, and not by the time of the test. */
const MOST_TRIES = 20;

/** The answer of a vendor that takes the message, under the send's own id. */
export const accepted = ({ id }: EmailMessage): SendOutcome => ({
  id,
  status: "sent",
  providerMessageId: id,
});

/** A vendor that answers as told, and remembers what it was given. */
export function vendor(
  options: {
    repeatable?: boolean;
    concurrency?: number;
    answer?: (message: EmailMessage) => SendOutcome | Promise<SendOutcome>;
  } = {},
) {
  const given: EmailMessage[] = [];
  const tries = new Map<string, number>();
  const answer = options.answer ?? accepted;
  const sender: Sender<"email"> = {
    repeatable: options.repeatable ?? false,
    concurrency: options.concurrency ?? 10,
    send: (messages, sending) => {
      for (const { id } of messages) {
        tries.set(id, (tries.get(id) ?? 0) + 1);
        if (tries.get(id)! > MOST_TRIES) throw new Error(`${id} has been sent ${MOST_TRIES} times`);
      }
      return each(messages, sending, async (message) => {
        // On a slow machine a message may come too late, and is not started: it comes again.
        given.push(message);
        await null;
        return answer(message);
      });
    },
  };
  return { sender, given };
}

export interface WorkOptions {
  open?(store: StoreMessages, chosen: Pick<ChosenProvider, "name" | "settings">): Sender<"email">;
  /** Only jobs of this name. */
  only?: string;
  /** Counts down the transactions that commit before the process is killed. */
  killedAfter?: { left: number };
}

/** A process that is killed: nothing that it does afterwards has an effect. */
export class Killed extends Error {}

function mortal(context: JobContext, life: { left: number }): JobContext {
  return {
    ...context,
    transact: async (work) => {
      if (life.left <= 0) throw new Killed();
      life.left -= 1;
      return context.transact(work);
    },
  };
}

interface QueueRow {
  id: string;
  name: string;
  property_id: string;
  tenant: string;
  input: object;
  attempts: number;
  max_attempts: number;
  merge_key: string | null;
}

/** Claims the next due job as a worker would and runs it. A rejected job stays claimed: it is what a crash leaves. */
export async function runNext(
  { internals }: TestService,
  propertyId: string,
  { open, only, killedAfter }: WorkOptions,
): Promise<boolean> {
  const lease = randomUUID();
  const [claimed] = await internals.db.asSystem(
    (sql) => sql<QueueRow[]>`
    update queue set state = 'running', attempts = attempts + 1, lease = ${lease}, dedupe = null,
      leased_until = now() + interval '1 hour'
    where id = (select id from queue
      where state = 'ready' and run_at <= now() and property_id = ${propertyId} and name <> 'deliver_webhooks'
        and name = coalesce(${only ?? null}, name) order by run_at, id limit 1 for update skip locked)
    returning id, name, property_id, tenant, input, attempts, max_attempts, merge_key`,
  );
  if (!claimed) return false;
  const job = CATALOG.jobs.get(claimed.name) as Job<unknown>;
  const jobRuntime = {
    outgoing: null as never,
    mailDomains: null as never,
    run: null as never,
    open: ((_channel, chosen, store) => open?.(store, chosen) ?? vendor().sender) as JobRuntime["open"],
  };
  const held = {
    ...claimed,
    lease,
    trace: null,
    claimedAt: 0,
    stop: new AbortController(),
  };
  const context = jobContexts({ ...internals, jobRuntime }, () => {}).of(held);
  await job.handler(killedAfter ? mortal(context, killedAfter) : context, job.input.parse(claimed.input));
  await internals.db.asSystem((sql) => sql`delete from queue where id = ${claimed.id}`);
  return true;
}

/** Makes the jobs of a lost worker ready again. */
export async function loseWorker(service: TestService, propertyId: string): Promise<void> {
  await service.internals.db.asSystem(
    (sql) => sql`
    update queue set state = 'ready', lease = null, leased_until = null, run_at = now() where state = 'running' and property_id = ${propertyId}`,
  );
}
