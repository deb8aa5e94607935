import fc from "fast-check";

/** The ways in which a receiver may treat requests. */
export const MOODS = {
  ok: { status: 200 },
  created: { status: 201 },
  huge: { status: 200, body: "x".repeat(100_000) },
  error: { status: 500 },
  missing: { status: 404 },
  redirects: { status: 302, headers: { location: "/elsewhere" } },
  busy: { status: 429, headers: { "retry-after": "40" } },
  rests: { status: 503, headers: { "retry-after": "900" } },
  gone: { status: 410 },
  hangs: { hangs: true },
  closes: { closes: true },
} as const;
export type Mood = keyof typeof MOODS;

const SUBSCRIBED = [
  ["*"],
  ["player.*"],
  ["player.created"],
  ["player.updated", "player.tier_changed"],
  ["player.deleted", "player.merged", "consent.*"],
  ["campaign.*", "job.completed"],
  ["player.erased"],
];

const which = fc.nat({ max: 7 });
const events = fc.constantFrom(...SUBSCRIBED);
const sizes = fc.integer({ min: 1, max: 4 });
/** A visit is killed after so many of its job's commits. */
const commits = fc.nat({ max: 3 });
const mood = fc.constantFrom(...(Object.keys(MOODS) as Mood[]));
const of = <Name extends string, Fields extends object>(
  weight: number,
  act: Name,
  fields: { [K in keyof Fields]: fc.Arbitrary<Fields[K]> },
) => ({ weight, arbitrary: fc.record<Fields>(fields).map((rest) => ({ act, ...(rest as Fields) })) });

/** The acts of a casino, its receivers, time and death. */
export const act = fc.oneof(
  of(4, "subscribe", { events, include_pii: fc.boolean() }),
  of(2, "resubscribe", { which, events }),
  of(1, "widen", { which, include_pii: fc.boolean() }),
  of(2, "switch", { which, is_active: fc.boolean() }),
  of(1, "unsubscribe", { which }),
  of(2, "rotate", { which, overlapHours: fc.constantFrom(0, 24) }),
  of(1, "endOverlap", { which }),
  of(5, "treat", { which, mood }),
  of(4, "create", { count: sizes }),
  of(3, "change", { which, tier: fc.constantFrom("Gold", "Silver") }),
  of(2, "remove", { which }),
  of(2, "import", { fresh: sizes, known: fc.nat({ max: 2 }) }),
  of(1, "merge", { which, other: which }),
  of(2, "erase", { which }),
  of(1, "send", {}),
  of(1, "agree", { which }),
  of(1, "refuse", { which }),
  of(1, "rival", {}),
  of(5, "deliver", {}),
  of(3, "dieDelivering", { which, commits }),
  of(4, "pass", {}),
  of(1, "fiveDays", { which }),
  of(1, "test", { which }),
  of(2, "replay", {
    which,
    status: fc.constantFrom("failed", "discarded", "delivered", "pending"),
  }),
  of(1, "redeliver", { which, delivery: which }),
);
export type Act = typeof act extends fc.Arbitrary<infer One> ? One : never;

const treat = (which: number, mood: Mood): Act => ({ act: "treat", which, mood });
const times = (count: number, ...acts: Act[]): Act[] => Array.from({ length: count }, () => acts).flat();
const [deliver, pass]: Act[] = [{ act: "deliver" }, { act: "pass" }];
const subscribe = (include_pii = true, events = ["*"]): Act => ({ act: "subscribe", events, include_pii });
const create = (count = 2): Act => ({ act: "create", count });

/** Courses that random acts seldom take whole. */
export const STORIES: Act[][] = [
  // Eight failures end a delivery; a replay starts it anew.
  [
    subscribe(),
    treat(0, "error"),
    create(),
    ...times(8, deliver!, pass!),
    treat(0, "ok"),
    { act: "replay", which: 0, status: "failed" },
    deliver!,
  ],
  // An erasure between two attempts.
  [
    subscribe(),
    subscribe(false),
    treat(0, "error"),
    treat(1, "hangs"),
    create(3),
    deliver!,
    { act: "erase", which: 0 },
    treat(0, "ok"),
    treat(1, "ok"),
    pass!,
    deliver!,
  ],
  // Five days of failures, and what waited then.
  [
    subscribe(),
    treat(0, "missing"),
    create(3),
    deliver!,
    { act: "fiveDays", which: 0 },
    pass!,
    deliver!,
    create(1),
    { act: "switch", which: 0, is_active: true },
    treat(0, "ok"),
    { act: "replay", which: 0, status: "discarded" },
    deliver!,
  ],
  // Gone, and back.
  [
    subscribe(),
    treat(0, "gone"),
    create(4),
    deliver!,
    treat(0, "ok"),
    { act: "switch", which: 0, is_active: true },
    { act: "replay", which: 0, status: "failed" },
    { act: "replay", which: 0, status: "discarded" },
    create(1),
    deliver!,
  ],
  // Both secrets while a rotation overlaps, and a deletion while events wait.
  [
    subscribe(),
    subscribe(),
    { act: "rotate", which: 0, overlapHours: 24 },
    create(),
    deliver!,
    { act: "endOverlap", which: 0 },
    treat(1, "rests"),
    create(),
    deliver!,
    create(),
    { act: "unsubscribe", which: 1 },
    pass!,
    deliver!,
  ],
  // Events of files while it is switched off, and after; and a rest between them.
  [
    subscribe(false, ["player.*"]),
    { act: "switch", which: 0, is_active: false },
    { act: "import", fresh: 2, known: 0 },
    create(1),
    deliver!,
    { act: "switch", which: 0, is_active: true },
    treat(0, "rests"),
    { act: "import", fresh: 2, known: 1 },
    deliver!,
    treat(0, "ok"),
    create(2),
    deliver!,
    pass!,
    deliver!,
  ],
  // A death after each commit.
  ...[0, 1, 2].map((commits): Act[] => [
    subscribe(),
    create(4),
    { act: "dieDelivering", which: 0, commits },
    deliver!,
  ]),
];
