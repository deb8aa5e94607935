import type { Claimed } from "./queue.ts";

/** A claimed job in this process, from its claim until the database knows how it ended. */
export interface Held extends Claimed {
  state: "waiting" | "running" | "ended";
  /** performance.now() of the claim. */
  since: number;
  /** The claim that it came with. */
  batch: { left: number; readonly jobs: number; readonly since: number };
  stop: AbortController;
}

/** Which part of the slots one tenant may fill, so that another's short job never waits for its long ones. */
const TENANT_SHARE = 0.75;

/** The slots in which jobs run, and the jobs that wait for one: whose tenant runs the fewest goes first. */
export function openSlots(concurrency: number) {
  const waiting = new Map<string, Held[]>();
  const running = new Map<string, number>();
  const most = Math.ceil(concurrency * TENANT_SHARE);
  let waits = 0;
  let runs = 0;

  const first = (): Held[] | undefined => {
    let fewest = most;
    let chosen: Held[] | undefined;
    for (const [tenant, line] of waiting) {
      const has = running.get(tenant) ?? 0;
      if (has >= fewest) continue;
      fewest = has;
      chosen = line;
    }
    return chosen;
  };
  const drop = (line: Held[], count: number): Held[] => {
    const dropped = line.splice(0, count);
    waits -= dropped.length;
    if (line.length === 0 && dropped[0]) waiting.delete(dropped[0].tenant);
    return dropped;
  };

  return {
    /** The most jobs of one tenant that run at once. */
    most,
    waits: () => waits,
    runs: () => runs,
    /** How many jobs a tenant has here, waiting or running. */
    jobsOf: (tenant: string) => (running.get(tenant) ?? 0) + (waiting.get(tenant)?.length ?? 0),
    /** The same of every tenant. */
    tenants: (): Map<string, number> => {
      const counts = new Map(running);
      for (const [tenant, line] of waiting) counts.set(tenant, (counts.get(tenant) ?? 0) + line.length);
      return counts;
    },
    add: (job: Held) => {
      const line = waiting.get(job.tenant);
      if (line) line.push(job);
      else waiting.set(job.tenant, [job]);
      waits++;
    },
    /** The next job, which now has a slot; none when there is no slot or none may run. */
    take: (): Held | undefined => {
      const line = runs < concurrency ? first() : undefined;
      if (!line) return undefined;
      const [job] = drop(line, 1);
      running.set(job!.tenant, (running.get(job!.tenant) ?? 0) + 1);
      runs++;
      return job;
    },
    leave: (job: Held) => {
      const left = running.get(job.tenant)! - 1;
      if (left === 0) running.delete(job.tenant);
      else running.set(job.tenant, left);
      runs--;
    },
    /** Takes out what has waited here since before `moment`. */
    waitingSince: (moment: number): Held[] =>
      [...waiting.values()].flatMap((line) => drop(line, line.filter((job) => job.since <= moment).length)),
  };
}
