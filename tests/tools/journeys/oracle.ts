import { createHash } from "node:crypto";
import type { RandomDraft, RandomLimits, RandomNode } from "./random.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MOST_VISITS = 100;
const UNITS: Record<string, number> = {
  minutes: MINUTE,
  hours: HOUR,
  days: DAY,
  minute: MINUTE,
  hour: HOUR,
  day: DAY,
};
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** A player as the oracle reads the documentation: plain values, changed by the nodes. */
export interface Person {
  id: string;
  enrollment: string;
  zone: string;
  tier: string;
  tags: string[];
  custom: { points?: number; stay?: string };
  events: { name: string; at: number; amount: number }[];
}

/** When a message of a person got its outcome, and which. */
export interface MessageOutcome {
  at: number;
  label: "sent" | "not_sent";
}

interface State extends Person {
  status: string;
  reason: string | null;
  node: string;
  phase: "ready" | "waiting" | "sending";
  wake: number;
  arrived: number;
  path: string[];
  times: number[];
  entered: number;
  goal: boolean;
}

/** The entry of a person as it must be in the end. */
export interface Expected {
  id: string;
  status: string;
  reason: string | null;
  node: string;
  path: string[];
  times: number[];
  /** Whether they have reached the goal. */
  goal: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: configs of all types of nodes
type Config = any;

/**
 * Walks people through a journey one by one, in plain code that follows the guide and not the SQL: nodes act in the
 * order of the edges, a wait is looked at once a tick, and a rate limit lets people through in the order of arrival.
 */
export function walk(
  draft: RandomDraft,
  people: readonly Person[],
  options: {
    journeyId: string;
    order: readonly string[];
    ticks: readonly number[];
    limits: RandomLimits;
    outcomeOf(enrollment: string, node: string, visit: number): MessageOutcome | null;
  },
): Expected[] {
  const { journeyId, order, ticks, limits, outcomeOf } = options;
  const nodes = new Map(draft.nodes.map((node) => [node.id, node]));
  const lineAt = rateLimits();
  const states = people.map(
    (person): State => ({
      ...person,
      tags: [...person.tags],
      custom: { ...person.custom },
      status: "active",
      reason: null,
      node: "in",
      phase: "ready",
      wake: ticks[0]!,
      arrived: ticks[0]!,
      path: ["in"],
      times: [ticks[0]!],
      entered: ticks[0]!,
      goal: false,
    }),
  );

  function go(state: State, label: string, now: number): void {
    const own = draft.edges.filter(({ from }) => from === state.node);
    const target = (own.find((edge) => edge.label === label) ?? own.find((edge) => edge.label === undefined))
      ?.to;
    if (target === undefined) {
      leave(state, "completed", "completed");
      return;
    }
    const node = nodes.get(target)!;
    const visits = state.path.filter((id) => id === target).length;
    if (node.type !== "exit" && node.type !== "goal" && visits >= MOST_VISITS) {
      leave(state, "failed", "loop_limit");
      return;
    }
    state.node = target;
    state.path.push(target);
    state.times.push(now);
    state.arrived = now;
    state.phase = "ready";
    state.wake = now;
    if (node.type === "goal") {
      state.goal = true;
      leave(state, "completed", "goal_reached");
    } else if (node.type === "exit") leave(state, "completed", "completed");
    else arrive(state, node, now);
  }

  function act(node: RandomNode, now: number, looked: Set<string>): number {
    const here = () => states.filter((state) => state.status === "active" && state.node === node.id);
    let moves = 0;
    /** Before a node acts, the goal and the exit conditions are asked. Says whether the person has left. */
    const leaves = (state: State): boolean => {
      const isReached = reaches(state, limits.goal, now);
      const byGoal = isReached && (limits.goal as Config).exit_on_goal;
      const byRule = limits.exit_conditions?.conditions.every((rule) => fits(state, rule, now)) ?? false;
      if (byGoal) leave(state, "completed", "goal_reached");
      else if (byRule) leave(state, "exited", "exit_condition");
      if (!byGoal && !byRule) return false;
      moves += 1;
      if (isReached) state.goal = true;
      return true;
    };
    const move = (state: State, label: string) => {
      if (leaves(state)) return;
      moves += 1;
      if (reaches(state, limits.goal, now)) state.goal = true;
      go(state, label, now);
    };
    const config: Config = node.config;
    if (node.type === "message") {
      for (const state of here()) {
        if (state.phase === "ready" && state.wake <= now && !leaves(state)) state.phase = "sending";
      }
      for (const state of here()) {
        if (state.phase !== "sending") continue;
        const visit = state.path.filter((id) => id === node.id).length;
        const outcome = outcomeOf(state.enrollment, node.id, visit);
        if (outcome && outcome.at <= now) move(state, outcome.label);
        // A message that still waits is taken back from a person who has a reason to leave.
        else leaves(state);
      }
      return moves;
    }
    if (node.type === "rate_limit") {
      const line = here().toSorted((a, b) => a.arrived - b.arrived || (a.id < b.id ? -1 : 1));
      if (line.length === 0) return moves;
      const limit = lineAt(node.id, config, { since: line[0]!.arrived, now });
      for (const state of line.slice(0, limit.most)) {
        if (leaves(state)) continue;
        limit.pass();
        move(state, "next");
      }
      return moves;
    }
    if (node.type === "wait_until" && !looked.has(node.id)) {
      looked.add(node.id);
      for (const state of here()) if (state.wake > now && holds(state, config, now)) move(state, "yes");
    }
    for (const state of here()) {
      const isDue = state.phase !== "sending" && state.wake <= now;
      if (!isDue) continue;
      switch (node.type) {
        case "wait_until":
          move(state, config.event && holds(state, config, now) ? "yes" : "timed_out");
          break;
        case "delay":
          if (config.by === "until_field" && config.if_missing === "exit" && !state.custom.stay) {
            if (leaves(state)) break;
            moves += 1;
            if (reaches(state, limits.goal, now)) state.goal = true;
            leave(state, "exited", "missing_date");
          } else move(state, "next");
          break;
        case "time_window": {
          if (leaves(state)) break;
          const wake = nextOpening(config, now, state.zone);
          if (wake === now) move(state, "next");
          else {
            moves += 1;
            state.wake = wake;
          }
          break;
        }
        case "branch": {
          const branch = config.branches.find((one: Config) =>
            one.conditions.every((rule: Config) => fits(state, rule, now)),
          );
          move(state, branch?.label ?? "otherwise");
          break;
        }
        case "random_split":
          move(state, drawn(journeyId, node, state.id));
          break;
        case "update_player":
          if (leaves(state)) break;
          if (reaches(state, limits.goal, now)) state.goal = true;
          change(state, config);
          moves += 1;
          go(state, "next", now);
          break;
        default:
          move(state, "next");
      }
    }
    return moves;
  }

  for (const now of ticks) {
    const looked = new Set<string>();
    for (let moves = 1; moves > 0; ) {
      moves = 0;
      for (const id of order) moves += act(nodes.get(id)!, now, looked);
    }
  }
  return states.map(({ id, status, reason, node, path, times, goal }) => {
    return { id, status, reason, node, path, times, goal };
  });
}

/**
 * The rate limits of a journey: each lets its even share through, of which it may catch up a sixtieth of its time for a
 * line that is late, and never more than its limit in any time of its length.
 */
function rateLimits() {
  const limits = new Map<string, { paced: number; times: number[] }>();
  return (id: string, { most, per }: Config, { since, now }: { since: number; now: number }) => {
    const span = UNITS[per]!;
    // The database's times have no part of a microsecond, and no more than the limit may pass.
    const apart = Math.ceil((span * 1_000) / most) / 1_000;
    const limit = limits.get(id) ?? { paced: Number.NEGATIVE_INFINITY, times: [] };
    limits.set(id, limit);
    const earliest = now - apart - Math.min(now - since, span / 60);
    const from = Math.max(limit.paced, earliest);
    const inSpan = limit.times.filter((time) => time > now - span).length;
    const due = Math.floor(Math.round((now - from) * 1_000) / Math.round(apart * 1_000));
    let passed = 0;
    return {
      most: Math.max(0, Math.min(due, most - inSpan)),
      pass() {
        passed += 1;
        limit.paced = from + passed * apart;
        limit.times.push(now);
      },
    };
  };
}

/** Whether the person has reached the journey's goal by now. */
function reaches(state: State, goal: Config | null, now: number): boolean {
  if (!goal) return false;
  const until = goal.window_hours ? state.entered + goal.window_hours * HOUR : Number.POSITIVE_INFINITY;
  if (!goal.event) return now < until && goal.conditions.every((rule: Config) => fits(state, rule, now));
  const { name, properties } = goal.event;
  return state.events.some(
    (event) =>
      event.name === name &&
      event.at > state.entered &&
      event.at <= now &&
      event.at < until &&
      properties.every((rule: Config) => event.amount >= rule.value),
  );
}

function leave(state: State, status: string, reason: string): void {
  state.status = status;
  state.reason = reason;
}

function change(state: State, { tier, add_tags = [], remove_tags = [], custom = {} }: Config): void {
  if (tier) state.tier = tier;
  state.tags = [...state.tags.filter((tag) => ![...add_tags, ...remove_tags].includes(tag)), ...add_tags];
  Object.assign(state.custom, custom);
}

/** A person comes to a node that makes people wait. */
function arrive(state: State, { type, config }: { type: string; config: Config }, now: number): void {
  if (type === "wait_until") {
    state.phase = "waiting";
    state.wake = now + config.timeout.amount * UNITS[config.timeout.unit]!;
  }
  if (type === "time_window") {
    state.phase = "waiting";
    state.wake = nextOpening(config, now, state.zone);
  }
  if (type === "delay") {
    state.phase = "waiting";
    if (config.by === "duration") state.wake = now + config.duration.amount * UNITS[config.duration.unit]!;
    if (config.by === "until_local_time")
      state.wake = nextLocal(now, config.time, config.weekdays, state.zone);
    if (config.by === "until_field" && state.custom.stay) {
      const day = addDays(state.custom.stay, config.offset_days);
      state.wake = Math.max(now, utcOf(day, "09:00", state.zone));
    }
  }
}

/** When a person may pass a window: now, while it is open by the person's clock. */
function nextOpening({ from, to, weekdays }: Config, now: number, zone: string): number {
  const { date, minutes } = localOf(now, zone);
  const end = to === "00:00" ? 24 * 60 : minutesOf(to);
  const isOpen =
    minutes >= minutesOf(from) && minutes < end && (weekdays ?? WEEKDAYS).includes(weekdayOf(date));
  return isOpen ? now : nextLocal(now, from, weekdays, zone);
}

/** Whether a wait for an event or for conditions is over. */
function holds(state: State, config: Config, now: number): boolean {
  if (config.event) {
    const { name, properties } = config.event;
    return state.events.some(
      (event) =>
        event.name === name &&
        event.at >= state.arrived &&
        event.at < state.wake &&
        event.at <= now &&
        properties.every((rule: Config) => event.amount >= rule.value),
    );
  }
  return config.conditions.every((rule: Config) => fits(state, rule, now));
}

function fits(state: State, { field, value }: Config, now: number): boolean {
  switch (field) {
    case "tier":
      return state.tier === value;
    case "tags":
      return value.some((tag: string) => state.tags.includes(tag));
    case "custom.points":
      return state.custom.points !== undefined && state.custom.points >= value;
    default: {
      const { n, within_days } = value;
      const visits = state.events.filter(
        ({ name, at }) => name === "visit" && at <= now && at >= now - within_days * DAY,
      );
      return visits.length >= n;
    }
  }
}

function drawn(journeyId: string, { id, config }: RandomNode, playerId: string): string {
  const { splits } = config as Config;
  const bytes = Buffer.from(playerId.replaceAll("-", ""), "hex");
  const hash = createHash("sha256").update(`${journeyId}|${id}|`).update(bytes).digest();
  const share = (hash.readUInt16BE(0) / 65_536) * 100;
  let below = 0;
  for (const { label, percent } of splits) {
    below += percent;
    if (share < below) return label;
  }
  return splits.at(-1).label;
}

const minutesOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
const weekdayOf = (date: string) => WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()]!;
const addDays = (date: string, days: number) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);

/** The date, and the minutes since midnight with their fraction, that a clock shows. */
function localOf(at: number, zone: string): { date: string; minutes: number } {
  const local = new Date(at + offsetOf(at, zone)).toISOString();
  return {
    date: local.slice(0, 10),
    minutes: minutesOf(local.slice(11, 16)) + Number(local.slice(17, 23)) / 60,
  };
}

function nextLocal(now: number, clock: string, weekdays: string[] | undefined, zone: string): number {
  const today = localOf(now, zone).date;
  for (let days = 0; ; days += 1) {
    const date = addDays(today, days);
    const at = utcOf(date, clock, zone);
    if (at > now && (weekdays ?? WEEKDAYS).includes(weekdayOf(date))) return at;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Milliseconds that a zone's clock is ahead of UTC. */
function offsetOf(at: number, zone: string): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    formats.set(zone, format);
  }
  const name = format.formatToParts(at).find(({ type }) => type === "timeZoneName")!.value;
  const [, sign, hours = "0", minutes = "0"] = /GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(name)!;
  return (sign === "-" ? -1 : 1) * (Number(hours) * HOUR + Number(minutes) * MINUTE);
}

/** The instant of a local time. A skipped time counts by the clock before the change, a repeated one by that after it. */
function utcOf(date: string, clock: string, zone: string): number {
  const local = Date.parse(`${date}T${clock}:00Z`);
  const [before, after] = [offsetOf(local - DAY, zone), offsetOf(local + DAY, zone)];
  if (before === after) return local - before;
  const [early, late] = [local - Math.max(before, after), local - Math.min(before, after)];
  const isChanged = (at: number) => offsetOf(at, zone) === after;
  if (!isChanged(early) && !isChanged(late)) return local - before;
  if (isChanged(early) && isChanged(late)) return local - after;
  return after > before ? local - before : local - after;
}
