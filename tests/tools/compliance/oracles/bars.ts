import type { Channel } from "#tools/compliance/channels.ts";

/** A record as the database has it. */
export interface Seen {
  id: string;
  player_id: string;
  email: string | null;
  phone: string | null;
  first_name: string | null;
  last_name: string | null;
  birth_date: string | null;
  status: string;
  live: boolean;
}

/** The number of the step in which it happened is the time of an act. */
type Time = number;
interface Word {
  at: Time;
  /** By a text: START takes it back. */
  isStop: boolean;
}

const CHANNELS = ["email", "sms", "voice"] as const;
export type Addressed = (typeof CHANNELS)[number];

/** One word about phones closes texts and calls. */
export const closedWith = (channel: Addressed | "all"): Addressed[] =>
  channel === "all" ? [...CHANNELS] : channel === "email" ? ["email"] : ["sms", "voice"];

export const addressOn = (channel: Channel, { email, phone }: Pick<Seen, "email" | "phone">) =>
  channel === "email" ? email : phone;

const isFinal = (status: string) => ["banned", "deceased", "self_excluded"].includes(status);

export function identity({ first_name, last_name, birth_date }: Partial<Seen>): string | null {
  return first_name && last_name && birth_date ? `${first_name} ${last_name} ${birth_date}` : null;
}

class Sets<V> extends Map<string, V[]> {
  all(key: string | null): V[] {
    return (key !== null && this.get(key)) || [];
  }
  add(key: string | null, value: V): void {
    if (key !== null) this.set(key, [...this.all(key), value]);
  }
}

/**
 * The bars on people, in the words of the rules: it knows the acts of callers and the records that there are, and
 * nothing of how the service keeps its lists. An API key lifts none of them, except where an act here says so.
 */
export class Bars {
  private records = new Map<string, Seen>();
  private readonly excluded = {
    numbers: new Set<string>(),
    addresses: new Set<string>(),
    people: new Set<string>(),
    /** Other addresses of the excluded. They bar each player who has one, and identify nobody. */
    shared: new Set<string>(),
  };
  /** Exclusions with an end, until it has passed. The records that they have reached stay excluded. */
  private readonly ending = {
    addresses: new Set<string>(),
    people: new Set<string>(),
    shared: new Set<string>(),
  };
  private hasEnding = false;
  /** Suppressions that may stand, by address and channel: those with an end, and those of bounces below a limit. */
  private readonly brief = new Set<string>();
  private readonly soft = new Set<string>();
  /** All addresses that a record has had, by its id; and those of the erased, which wait for a new holder's word. */
  private readonly had = new Sets<string>();
  private readonly former = new Set<string>();
  /** The numbers whose texts may mean stop, until a person has read them. */
  private readonly unread = new Set<string>();
  private readonly finalNumbers = new Set<string>();
  /** The record that a merged record's number means. */
  private readonly aliases = new Map<string, string>();
  /** Addresses of people whose record was banned or deceased, erased, or listed. */
  private readonly closed = new Set<string>();
  private readonly erased = new Set<string>();
  private readonly dnc = new Set<string>();
  /** The addresses that records on hold have left, by address the records. */
  private readonly held = new Map<string, Set<string>>();
  /** Refusals of records, by id and channel. */
  private readonly words = new Map<string, Word>();
  /** Refusals of addresses, by address and channel. */
  private readonly refusals = new Sets<Word>();
  /** The addresses that callers have listed, by channel. */
  private readonly listed = new Sets<string>();

  live(): Seen[] {
    return [...this.records.values()].filter(({ live }) => live);
  }

  get(id: string): Seen | undefined {
    return this.records.get(id);
  }

  all(): Seen[] {
    return [...this.records.values()];
  }

  finalNumber(number: string): boolean {
    const meant = this.records.get(this.aliases.get(number) ?? "");
    return (
      this.finalNumbers.has(number) ||
      this.excluded.numbers.has(number) ||
      (meant !== undefined && meant.player_id !== number && this.finalNumber(meant.player_id))
    );
  }

  /** After each step: addresses that a record has let go of keep its bars, and a person's bars are on all they have. */
  see(records: readonly Seen[]): void {
    const before = this.records;
    this.records = new Map(records.map((one) => [one.id, one]));
    for (const { id, email, phone } of records)
      for (const one of [email, phone]) if (one) this.had.add(id, one);
    for (const was of before.values()) {
      const is = this.records.get(was.id);
      if (was.live) this.leave(was, is?.live ? is : { email: null, phone: null });
      if (is?.live && was.status === "vip_hold" && ["active", "inactive"].includes(is.status)) {
        for (const holders of this.held.values()) holders.delete(was.id);
      }
    }
    for (let size = -1; size !== this.excludedSize(); ) {
      size = this.excludedSize();
      for (const record of this.live()) this.spread(record);
    }
  }

  private excludedSize(): number {
    return this.excluded.shared.size + this.excluded.numbers.size + this.ending.shared.size;
  }

  private spread(record: Seen): void {
    const { player_id, email, phone, status } = record;
    if (isFinal(status)) this.finalNumbers.add(player_id);
    if (status === "deceased") return;
    const lasts =
      this.excluded.numbers.has(player_id) ||
      this.isAmong(this.excluded, record) ||
      (status === "self_excluded" && !this.hasEnding);
    if (lasts) this.excluded.numbers.add(player_id);
    else if (!this.isAmong(this.ending, record)) return;
    const { shared } = lasts ? this.excluded : this.ending;
    for (const address of [email, phone]) if (address) shared.add(address);
  }

  private isAmong(
    { addresses, people }: Pick<Bars["ending"], "addresses" | "people">,
    record: Seen,
  ): boolean {
    const who = identity(record);
    const has = [record.email, record.phone].some((address) => address !== null && addresses.has(address));
    return has || (who !== null && people.has(who));
  }

  /** `later`: when what has an end has ended. */
  private isExcluded(record: Seen, later = false): boolean {
    return (
      this.excluded.numbers.has(record.player_id) ||
      this.isAmong(this.excluded, record) ||
      (!later && this.isAmong(this.ending, record))
    );
  }

  private leave(was: Seen, is: Pick<Seen, "email" | "phone">): void {
    for (const name of ["email", "phone"] as const) {
      const address = was[name];
      if (address === null || address === is[name]) continue;
      if (isFinal(was.status)) this.closed.add(address);
      if (was.status === "vip_hold") {
        this.held.set(address, (this.held.get(address) ?? new Set()).add(was.id));
      }
      for (const channel of CHANNELS) {
        const word = this.words.get(`${was.id} ${channel}`);
        if (
          word &&
          addressOn(channel, was) === address &&
          addressOn(channel, { email: null, phone: null, [name]: address })
        ) {
          this.refusals.add(`${address} ${channel}`, { ...word, isStop: false });
        }
      }
    }
  }

  exclude(given: Partial<Seen>, player: Seen | undefined, ends: boolean): void {
    if (ends) this.hasEnding = true;
    const { addresses, people } = ends ? this.ending : this.excluded;
    const who = identity(given) ?? (player ? identity(player) : null);
    if (who !== null) people.add(who);
    for (const address of [given.email, given.phone, player?.email, player?.phone]) {
      if (address) addresses.add(address);
    }
    if (player && !ends) this.excluded.numbers.add(player.player_id);
  }

  /** Suppressions and exclusions with an end have ended. */
  pass(): void {
    for (const one of Object.values(this.ending)) one.clear();
    this.brief.clear();
  }

  /** A caller's suppression with an end. */
  listBriefly(address: string, channel: string): void {
    this.brief.add(`${address} ${channel}`);
  }

  bounce(address: string): void {
    this.soft.add(`${address} email`);
  }

  /** Somebody has to read a text of the number. */
  review(phone: string): void {
    this.unread.add(phone);
  }

  finish({ player_id }: Seen): void {
    this.finalNumbers.add(player_id);
  }

  refuse(record: Seen, channels: readonly Addressed[], at: Time, isStop = false): void {
    for (const channel of channels) this.words.set(`${record.id} ${channel}`, { at, isStop });
  }

  refuseAddress(address: string, channels: readonly Addressed[], at: Time, isStop = false): void {
    for (const channel of channels) this.refuseAt(address, channel, at, isStop);
    for (const record of this.all()) {
      if (record.email === address || record.phone === address) this.refuse(record, channels, at, isStop);
    }
  }

  refuseAt(address: string, channel: Addressed, at: Time, isStop = false): void {
    this.refusals.add(`${address} ${channel}`, { at, isStop });
  }

  /** The person agrees, with evidence, at a time. A later or equal refusal stands. */
  agree(record: Seen, channel: Addressed, at: Time): void {
    const word = this.words.get(`${record.id} ${channel}`);
    const key = `${addressOn(channel, record)} ${channel}`;
    if (word && word.at >= at) return;
    this.words.delete(`${record.id} ${channel}`);
    this.refusals.set(
      key,
      this.refusals.all(key).filter((one) => one.at >= at),
    );
  }

  start(phone: string): void {
    const key = `${phone} sms`;
    const stopped = this.refusals.all(key).some(({ isStop }) => isStop);
    if (!stopped) return;
    this.refusals.set(
      key,
      this.refusals.all(key).filter(({ isStop }) => !isStop),
    );
    for (const one of this.live()) {
      if (one.phone === phone && this.words.get(`${one.id} sms`)?.isStop) this.words.delete(`${one.id} sms`);
    }
  }

  list(address: string, channel: string, reason: string): void {
    this.listed.add(`${address} ${channel}`, reason);
  }

  /** An API key lifts what an API key has listed, and a hold. */
  unlist(address: string, channel: string, reason: string): void {
    const key = `${address} ${channel}`;
    this.listed.set(
      key,
      this.listed.all(key).filter((one) => one !== reason),
    );
    if (reason === "manual" && channel === "all") this.held.delete(address);
  }

  doNotCall(phone: string): void {
    this.dnc.add(phone);
  }

  erase(record: Seen): void {
    for (const one of this.all()) {
      if (one.id !== record.id && this.aliases.get(one.player_id) !== record.id) continue;
      for (const address of [one.email, one.phone]) if (address) this.erased.add(address);
      for (const address of this.had.all(one.id)) this.former.add(address);
    }
  }

  merge(kept: Seen, duplicate: Seen): void {
    for (const [number, id] of this.aliases) if (id === duplicate.id) this.aliases.set(number, kept.id);
    this.aliases.set(duplicate.player_id, kept.id);
    for (const channel of CHANNELS) {
      const [own, other] = [kept, duplicate].map(({ id }) => this.words.get(`${id} ${channel}`));
      if (other && !own) this.words.set(`${kept.id} ${channel}`, other);
    }
    for (const holders of this.held.values()) if (holders.delete(duplicate.id)) holders.add(kept.id);
  }

  /** Whether an act of somebody is behind a reason that the service has against a record of people who all agree. */
  explains(record: Seen, channel: Addressed, reason: string): boolean {
    const address = addressOn(channel, record);
    const own = [record.email, record.phone].filter((one) => one !== null);
    const others = this.live().filter((one) => one.id !== record.id && addressOn(channel, one) === address);
    const isIn = (...sets: { has(address: string): boolean }[]) =>
      own.some((one) => sets.some((set) => set.has(one)));
    const refused = (one: Seen) => this.words.has(`${one.id} ${channel}`);
    const gone = this.all().filter((one) => !one.live && addressOn(channel, one) === address);
    switch (reason) {
      case "no_consent":
        return (
          [record, ...gone].some(refused) ||
          isIn(this.former) ||
          this.refusals.all(`${address} ${channel}`).length > 0
        );
      case "dnc":
        return isIn(this.dnc);
      case "erased":
        return isIn(this.erased);
      case "needs_review":
        return isIn(this.unread);
      case "self_excluded":
        return (
          this.finalNumber(record.player_id) ||
          this.isExcluded(record) ||
          isIn(this.excluded.shared, this.ending.shared) ||
          this.all().some(
            (one) => this.isExcluded(one) && own.some((address) => [one.email, one.phone].includes(address)),
          )
        );
      case "shared_address":
        return others.some((one) => isFinal(one.status) || one.status === "vip_hold" || refused(one));
      case "suppressed":
        return (
          [record, ...others, ...gone].some(refused) ||
          isFinal(record.status) ||
          record.status === "vip_hold" ||
          isIn(this.closed, this.held, this.former) ||
          own.some((one) => [channel, "all"].some((c) => this.isSuppressed(`${one} ${c}`)))
        );
      default:
        return record.status === reason;
    }
  }

  private isSuppressed(key: string): boolean {
    const asked = this.listed.all(key).length + this.refusals.all(key).length > 0;
    return asked || this.brief.has(key) || this.soft.has(key);
  }

  /** The bars on a message to the record by a channel without an address, such as the inbox. */
  anywhere(record: Seen, later = false): string[] {
    return [...new Set(CHANNELS.flatMap((channel) => this.against(record, channel, later)))].filter((bar) =>
      ["number", "excluded", "erased", "dnc"].includes(bar),
    );
  }

  /** The bars on a message of the channel to the record; none: it may go. */
  against(record: Seen, channel: Addressed, later = false): string[] {
    const address = addressOn(channel, record);
    const own = [record.email, record.phone];
    const others = this.live().filter((one) => addressOn(channel, one) === address);
    const key = `${address} ${channel}`;
    const bars: Record<string, boolean> = {
      number: this.finalNumber(record.player_id),
      excluded:
        this.isExcluded(record, later) ||
        own.some(
          (one) => one !== null && (this.excluded.shared.has(one) || (!later && this.ending.shared.has(one))),
        ),
      unread: channel !== "email" && record.phone !== null && this.unread.has(record.phone),
      erased: own.some((one) => one !== null && this.erased.has(one)),
      dnc: record.phone !== null && this.dnc.has(record.phone),
      closed: address !== null && this.closed.has(address),
      held: address !== null && (this.held.get(address)?.size ?? 0) > 0,
      status: others.some(({ status }) => isFinal(status) || status === "vip_hold"),
      word: [record, ...others].some(({ id }) => this.words.has(`${id} ${channel}`)),
      refusal: this.refusals.all(key).length > 0,
      listed: [key, `${address} all`].some((one) => this.listed.all(one).length > 0),
    };
    return Object.keys(bars).filter((name) => bars[name]);
  }
}
