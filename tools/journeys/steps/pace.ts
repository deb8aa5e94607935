/** All times and spans here are microseconds, times since 1970: those that PostgreSQL keeps. */
const DAY = 86_400_000_000;
/** The passes of this share of a period are one entry of the book, of the time of its last pass. */
const ENTRIES = 64;
/** A line that is late may catch up by this share of its period. */
const CATCH_UP_SHARE = 60;

/** At most `most` people in any `period`, evenly. */
export interface Limit {
  most: number;
  period: number;
}

/** The memory of a rate limit. */
export interface Book {
  /** The pass from which the even pace counts on; null before the first. */
  pacedAt: number | null;
  /** Times, and the people who passed then or shortly before. They reach back for a day: a new limit counts them too. */
  passes: [at: number, people: number][];
}

/** The time of a look at a line. */
export interface Look {
  now: number;
  /** When the first person of the line came. */
  since: number;
  /** The span between two looks of a clock with ticks, 0 for one that runs. */
  tick: number;
}

/** How many of a line may pass now. In any period at most the limit pass, whenever somebody looks. */
export function allowed(book: Book, limit: Limit, look: Look): number {
  const felt = feltBy(limit, look.tick);
  const from = look.now - felt.period;
  const passed = book.passes.reduce((total, [at, people]) => (at > from ? total + people : total), 0);
  const paced = Math.floor((look.now - pacedFrom(book, felt, look)) / apart(felt));
  return Math.max(0, Math.min(paced, felt.most - passed));
}

/** The first time from now on at which one person may pass. */
export function nextAt(book: Book, limit: Limit, { now, tick }: Pick<Look, "now" | "tick">): number {
  const felt = feltBy(limit, tick);
  const paced = book.pacedAt === null ? now : book.pacedAt + apart(felt);
  let left = felt.most;
  const full = book.passes
    .toSorted(([a], [b]) => b - a)
    .find(([, people]) => {
      left -= people;
      return left < 1;
    });
  return Math.max(now, paced, full ? full[0] + felt.period : now);
}

/** The book after people have passed. */
export function noted(book: Book, limit: Limit, look: Look, people: number): Book {
  const felt = feltBy(limit, look.tick);
  return {
    pacedAt: pacedFrom(book, felt, look) + people * apart(felt),
    passes: condensed([...book.passes, [look.now, people]], felt.period, look.now),
  };
}

/**
 * The book by a clock that was put back by more than a period: its last pass was just now. Otherwise nobody would pass
 * until the clock is where it was. Passes that are a little ahead are those of another worker.
 */
export function putBack(book: Book, { period }: Limit, now: number): Book {
  const ahead = Math.max(...book.passes.map(([at]) => at)) - now;
  if (ahead <= period) return book;
  return {
    pacedAt: book.pacedAt === null ? null : book.pacedAt - ahead,
    passes: book.passes.map(([at, people]) => [at - ahead, people]),
  };
}

/** Between two ticks that are longer than its period a limit passes several times. */
function feltBy({ most, period }: Limit, tick: number): Limit {
  return tick > period ? { most: Math.floor((most * tick) / period), period: tick } : { most, period };
}

/** Rounded up: never do more pass. */
const apart = ({ most, period }: Limit): number => Math.ceil(period / most);

function pacedFrom({ pacedAt }: Book, limit: Limit, { now, since, tick }: Look): number {
  const catchUp = Math.max(limit.period / CATCH_UP_SHARE, tick);
  const late = Math.min(Math.max(0, now - since), catchUp);
  return Math.max(pacedAt ?? Number.NEGATIVE_INFINITY, now - apart(limit) - late);
}

/** Some hundred entries at most. Those beyond the period count for a longer one alone, and are kept less finely. */
function condensed(passes: Book["passes"], period: number, now: number): Book["passes"] {
  const entries = new Map<string, Book["passes"][number]>();
  for (const [at, people] of passes) {
    if (at <= now - DAY) continue;
    const width = (at > now - period ? period : DAY) / ENTRIES;
    const key = `${width} ${Math.floor(at / width)}`;
    const [last, others] = entries.get(key) ?? [at, 0];
    entries.set(key, [Math.max(last, at), others + people]);
  }
  return [...entries.values()];
}
