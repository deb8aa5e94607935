/** A source of chance that a seed repeats. */
export type Random = () => number;

export function randomBy(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
const below = (random: Random, most: number) => 1 + Math.floor(random() * most);

export const TIERS = ["Bronze", "Silver", "Gold"];
export const ZONES = ["America/New_York", "Europe/Berlin", "Asia/Tokyo", "America/Los_Angeles"];
export const EVENTS = ["visit", "deposit"];
const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

export interface RandomNode {
  id: string;
  type: string;
  config: Record<string, unknown>;
}

export interface RandomEdge {
  from: string;
  to: string;
  label?: string;
}

export interface RandomDraft {
  nodes: RandomNode[];
  edges: RandomEdge[];
}

const condition = (random: Random) =>
  pick(random, [
    { field: "tier", operator: "eq", value: pick(random, TIERS) },
    { field: "tags", operator: "has_any", value: [pick(random, ["vip", "seen"])] },
    { field: "custom.points", operator: "gte", value: below(random, 100) },
    {
      field: "event.visit.count",
      operator: "is",
      value: { op: "gte", n: below(random, 2), within_days: below(random, 10) },
    },
  ]);

const duration = (random: Random) =>
  pick(random, [
    { amount: below(random, 50), unit: "minutes" },
    { amount: below(random, 40), unit: "hours" },
    { amount: below(random, 4), unit: "days" },
  ]);

const weekdays = (random: Random) =>
  random() < 0.5 ? {} : { weekdays: DAYS.filter(() => random() < 0.5).concat("sun") };

const clock = (random: Random) =>
  `${String(Math.floor(random() * 24)).padStart(2, "0")}:${pick(random, ["00", "15", "30"])}`;

const unique = <T>(values: T[]) => [...new Set(values)];

/** The configs of a node's types, each with the labels of its ways out. */
const KINDS: Record<
  string,
  (random: Random, segmentId: string) => { config: Record<string, unknown>; labels: string[] }
> = {
  message: (random) => ({
    config: {
      channel: "email",
      subject: "Hello",
      body_html: "<p>Hello</p>",
      ...(random() < 0.3 && { tags: ["promo"] }),
      ...(random() < 0.2 && { is_transactional: true }),
    },
    labels: ["sent", "not_sent"],
  }),
  delay: (random) => ({
    config: pick(random, [
      () => ({ by: "duration", duration: duration(random) }),
      () => ({ by: "until_local_time", time: clock(random), ...spread(weekdays(random)) }),
      () => ({
        by: "until_field",
        field: "custom.stay",
        offset_days: below(random, 5) - 3,
        if_missing: pick(random, ["exit", "skip"]),
      }),
    ])(),
    labels: ["next"],
  }),
  wait_until: (random) => ({
    config: {
      ...(random() < 0.6
        ? {
            event: {
              name: pick(random, EVENTS),
              properties:
                random() < 0.5 ? [] : [{ property: "amount", operator: "gte", value: below(random, 100) }],
            },
          }
        : { conditions: [condition(random)] }),
      timeout: duration(random),
    },
    labels: ["yes", "timed_out"],
  }),
  time_window: (random) => ({
    config: { from: "09:00", to: pick(random, ["12:00", "21:00", "00:00"]), ...spread(weekdays(random)) },
    labels: ["next"],
  }),
  branch: (random) => ({
    config: {
      branches: [
        { label: "a", conditions: [condition(random)] },
        { label: "b", conditions: [condition(random)] },
      ],
    },
    labels: ["a", "b", "otherwise"],
  }),
  random_split: (random) => {
    const first = below(random, 98);
    return {
      config: {
        splits: [
          { label: "a", percent: first },
          { label: "b", percent: 100 - first },
        ],
      },
      labels: ["a", "b"],
    };
  },
  rate_limit: (random) => ({
    config: { most: below(random, 20), per: pick(random, ["hour", "day"]) },
    labels: ["next"],
  }),
  update_player: (random) => ({
    config: pick(random, [
      { add_tags: ["seen"] },
      { tier: pick(random, TIERS) },
      { custom: { points: below(random, 100) }, remove_tags: ["vip"] },
    ]),
    labels: ["next"],
  }),
  add_to_segment: (_, segmentId) => ({ config: { segment_id: segmentId }, labels: ["next"] }),
  webhook: () => ({ config: { name: "step" }, labels: ["next"] }),
};

function spread({ weekdays: days }: { weekdays?: string[] }) {
  return days ? { weekdays: unique(days) } : {};
}

/**
 * A valid journey by chance: a chain of nodes of every type with shortcuts, ends and loops. A loop leads back from a
 * delay by duration alone, so that each round takes time.
 */
export function randomDraft(
  random: Random,
  { segmentId, size }: { segmentId: string; size: number },
): RandomDraft {
  const nodes: RandomNode[] = [{ id: "in", type: "trigger", config: { on: "api" } }];
  const edges: RandomEdge[] = [{ from: "in", to: "n0" }];
  for (let index = 0; index < size; index += 1) {
    const id = `n${index}`;
    const type = pick(random, Object.keys(KINDS));
    const { config, labels } = KINDS[type]!(random, segmentId);
    nodes.push({ id, type, config });
    const next = index + 1 < size ? `n${index + 1}` : "end";
    const [first, ...others] = labels;
    edges.push(others.length === 0 ? { from: id, to: next } : { from: id, to: next, label: first! });
    for (const label of others) edges.push({ from: id, label, to: farther(random, index, size) });
    if (config.by === "duration" && random() < 0.25 && index > 0) {
      const turn = `t${index}`;
      nodes.push({
        id: turn,
        type: "random_split",
        config: {
          splits: [
            { label: "a", percent: 50 },
            { label: "b", percent: 50 },
          ],
        },
      });
      edges.find(({ from }) => from === id)!.to = turn;
      edges.push(
        { from: turn, label: "a", to: next },
        { from: turn, label: "b", to: `n${Math.floor(random() * index)}` },
      );
    }
  }
  const ends = [
    { id: "end", type: "exit", config: {} },
    { id: "won", type: "goal", config: {} },
  ].filter(({ id }) => edges.some(({ to }) => to === id));
  return { nodes: [...nodes, ...ends], edges };
}

/** A node behind this one, or an end. */
function farther(random: Random, index: number, size: number): string {
  const behind = Array.from({ length: size - index - 1 }, (_, offset) => `n${index + 1 + offset}`);
  return pick(random, [...behind, "end", "won"]);
}

/** A goal and conditions that end a journey for a player at any node; either may be missing. */
export interface RandomLimits {
  goal: Record<string, unknown> | null;
  exit_conditions: { conditions: object[] } | null;
}

export function randomLimits(random: Random): RandomLimits {
  const event = {
    name: pick(random, EVENTS),
    properties: random() < 0.5 ? [] : [{ property: "amount", operator: "gte", value: below(random, 100) }],
  };
  const goal = {
    ...(random() < 0.6 ? { event } : { conditions: [condition(random)] }),
    ...(random() < 0.5 && { window_hours: below(random, 100) }),
    exit_on_goal: random() < 0.6,
  };
  const exits = { conditions: [condition(random), condition(random)] };
  return { goal: random() < 0.5 ? goal : null, exit_conditions: random() < 0.4 ? exits : null };
}
