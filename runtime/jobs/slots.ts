import type { ClaimedJob } from "./claims.ts";

/** The share of the slots that one tenant may fill: its long jobs must leave room for another's short job. */
const TENANT_SHARE = 0.75;
/** Milliseconds. As many jobs are claimed ahead as end in this time: many short ones, no long ones. */
const CLAIM_AHEAD = 100;
const MOST_AHEAD = 1_000;
const LARGEST_CLAIM = 500;

interface Tenant {
  running: number;
  waiting: ClaimedJob[];
}

/**
 * The slots in which jobs run, and the jobs that wait for one. The tenant with the fewest running jobs goes first.
 */
export function openSlots(concurrency: number) {
  const tenants = new Map<string, Tenant>();
  const most = Math.ceil(concurrency * TENANT_SHARE);
  const pace = openPace();
  let running = 0;
  let waiting = 0;
  let expected = 0;
  const ahead = () => Math.min(MOST_AHEAD, Math.floor(pace.jobs()));
  const clear = (tenant: string) => {
    if (jobsOf(tenants.get(tenant)!) === 0) tenants.delete(tenant);
  };

  return {
    /** The number of jobs to claim now; 0 until half of the jobs that were claimed ahead have started. */
    room: (): number => {
      const more = ahead();
      const free = concurrency + more - running - waiting - expected;
      return free > more / 2 ? Math.min(free, LARGEST_CLAIM) : 0;
    },
    /** Reserves room for a claim under way; a negative number frees it. */
    expect: (jobs: number) => {
      expected += jobs;
    },
    /** The most jobs that one tenant may have here. */
    cap: () => (ahead() > 0 ? concurrency + MOST_AHEAD : most),
    /** The number of jobs of each tenant, waiting or running. */
    held: () => new Map([...tenants].map(([id, tenant]) => [id, jobsOf(tenant)])),
    add: (jobs: readonly ClaimedJob[]) => {
      for (const job of jobs) {
        const tenant = tenants.get(job.tenant);
        if (tenant) tenant.waiting.push(job);
        else tenants.set(job.tenant, { running: 0, waiting: [job] });
      }
      waiting += jobs.length;
    },
    /** The next job, which now has a slot; undefined without a free slot or a permitted job. */
    start: (): ClaimedJob | undefined => {
      const tenant = running < concurrency && waiting > 0 && fewestRunning(tenants.values(), most);
      if (!tenant) return undefined;
      tenant.running++;
      running++;
      waiting--;
      return tenant.waiting.shift();
    },
    /** Frees the job's slot. Answers whether its tenant was at its limit. */
    end: (job: ClaimedJob): boolean => {
      const tenant = tenants.get(job.tenant)!;
      const wasFull = jobsOf(tenant) >= most;
      tenant.running--;
      running--;
      pace.add();
      clear(job.tenant);
      return wasFull;
    },
    /** Removes the waiting jobs that were claimed before `moment`, and answers them. */
    removeWaiting: (moment: number): ClaimedJob[] => {
      const removed: ClaimedJob[] = [];
      for (const [id, tenant] of tenants) {
        removed.push(...tenant.waiting.filter((job) => job.claimedAt < moment));
        tenant.waiting = tenant.waiting.filter((job) => job.claimedAt >= moment);
        clear(id);
      }
      waiting -= removed.length;
      return removed;
    },
  };
}

function jobsOf({ running, waiting }: Tenant): number {
  return running + waiting.length;
}

function fewestRunning(tenants: Iterable<Tenant>, most: number): Tenant | undefined {
  let found: Tenant | undefined;
  for (const tenant of tenants) {
    if (tenant.waiting.length > 0 && tenant.running < (found?.running ?? most)) found = tenant;
  }
  return found;
}

/** The pace of ended jobs: older ends weigh less. */
function openPace() {
  let ended = 0;
  let at = 0;
  const lately = (now: number) => ended * Math.exp((at - now) / CLAIM_AHEAD);
  return {
    add: () => {
      const now = performance.now();
      ended = lately(now) + 1;
      at = now;
    },
    jobs: () => lately(performance.now()),
  };
}
