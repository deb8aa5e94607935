import type { Posted } from "./wire.ts";

/** An event as the outbox stored it. */
export interface Occurred {
  id: string;
  type: string;
  /** The data as text, to look for a person in it. */
  text: string;
  at: string;
}

export interface Endpoint {
  id: string;
  url: string;
  events: string[];
  include_pii: boolean;
  is_active: boolean;
  isDeleted: boolean;
  secret: string;
  previous: string | null;
  /** The first failure since the last success is older than 5 days. */
  isLongFailing: boolean;
  isFailing: boolean;
  /** Its receiver has asked for a pause. */
  rests: boolean;
}

/** A delivery as the record has to tell it. */
export interface Owed {
  endpoint: string;
  event: Occurred;
  status: "pending" | "delivered" | "failed" | "discarded";
  /** Attempts since it last became pending. */
  count: number;
  /** The status codes of all attempts; null where no answer came. */
  codes: (number | null)[];
  /** Its time has come. */
  isDue: boolean;
}

const MOST_ATTEMPTS = 8;
/** Seconds before each attempt, by contract.md 2.12. */
export const WAITS = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

/** An independent account of the deliveries that a property owes, by the contract. */
export class Book {
  readonly endpoints: Endpoint[] = [];
  readonly events = new Map<string, Occurred>();
  readonly owed: Owed[] = [];

  of(endpoint: Endpoint): Owed[] {
    return this.owed.filter((one) => one.endpoint === endpoint.id);
  }

  /** An event of now. `only`: the one endpoint that a test event is for. */
  occurred(event: Occurred, only?: string): void {
    this.events.set(event.id, event);
    const receivers = this.endpoints.filter((one) =>
      only ? one.id === only : one.is_active && !one.isDeleted && hears(one, event.type),
    );
    for (const { id } of receivers) {
      this.owed.push({ endpoint: id, event, status: "pending", count: 0, codes: [], isDue: true });
    }
  }

  /** The result of one request. */
  attempted(endpoint: Endpoint, one: Owed, { status }: Posted): void {
    const code = status ?? null;
    const isGood = code !== null && code >= 200 && code < 300;
    one.codes.push(code);
    one.count += 1;
    one.isDue = false;
    one.status = isGood ? "delivered" : code === 410 || one.count >= MOST_ATTEMPTS ? "failed" : "pending";
    if (code === 410) endpoint.is_active = false;
  }

  /** After a run of an endpoint's job, with the results of its requests. */
  ran(endpoint: Endpoint, results: readonly Posted[]): void {
    const isWell = results.some(({ status }) => (status ?? 0) >= 200 && (status ?? 0) < 300);
    if (endpoint.isLongFailing && results.length > 0 && !isWell) endpoint.is_active = false;
    if (isWell) endpoint.isFailing = false;
    else if (results.length > 0) endpoint.isFailing = true;
    if (isWell) endpoint.isLongFailing = false;
    if (results.some(({ status }) => status === 429 || status === 503)) endpoint.rests = true;
  }

  /** The jobs have run: a switched-off endpoint's deliveries are given up. */
  settled(): void {
    for (const endpoint of this.endpoints.filter(({ is_active }) => !is_active)) {
      for (const one of this.of(endpoint)) if (one.status === "pending") one.status = "discarded";
    }
  }

  again(one: Owed): void {
    one.status = "pending";
    one.count = 0;
    one.isDue = true;
  }

  /** A person is erased: nothing with one of the words may be told any more. Answers the events that are to be gone. */
  erased(words: readonly string[]): string[] {
    const named = [...this.events.values()].filter(
      ({ type, text }) => type !== "player.erased" && words.some((word) => text.includes(word)),
    );
    for (const { id } of named) this.events.delete(id);
    const left = this.owed.filter(({ event }) => this.events.has(event.id));
    this.owed.splice(0, this.owed.length, ...left);
    return named.map(({ id }) => id);
  }

  deleted(endpoint: Endpoint): void {
    endpoint.isDeleted = true;
    endpoint.is_active = false;
    const left = this.owed.filter((one) => one.endpoint !== endpoint.id);
    this.owed.splice(0, this.owed.length, ...left);
  }
}

function hears({ events }: Endpoint, type: string): boolean {
  return events.some((name) => name === "*" || name === type || name === `${type.split(".")[0]}.*`);
}
