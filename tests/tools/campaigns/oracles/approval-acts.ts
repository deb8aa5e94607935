import fc from "fast-check";

/** The calls of a casino's agent and of its programs; each has its input made from two numbers. */
export const CALLS = [
  ...(["edit_campaign", "edit_campaign", "edit_template", "edit_segment", "edit_segment"] as const),
  ...([
    "add_member",
    "add_member",
    "remove_member",
    "create_player",
    "set_tier",
    "set_tier",
    "set_tier",
  ] as const),
  ...(["agree", "refuse", "delete_player", "restore_player", "edit_provider", "schedule", "send"] as const),
  ...([
    "pause",
    "resume",
    "unschedule",
    "cancel",
    "duplicate",
    "create_campaign",
    "delete_campaign",
  ] as const),
  ...(["edit_journey", "publish", "enroll", "report"] as const),
];
export type CallName = (typeof CALLS)[number];

const number = fc.nat({ max: 11 });
const call = { name: fc.constantFrom(...CALLS), which: number, how: number };

/** The acts of an agent, with what its human answers; of a program; of the property's settings; and of time. */
export const act = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      act: fc.constant("ask" as const),
      ...call,
      answer: fc.constantFrom("accept", "accept", "accept", "decline", "leave"),
    }),
  },
  { weight: 6, arbitrary: fc.record({ act: fc.constant("program" as const), ...call }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("check" as const), which: number }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("look" as const), which: number }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("press" as const), which: number, how: number }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("late" as const), which: number }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("settle" as const), how: number }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("due" as const), which: number }) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant("work" as const), only: fc.constantFrom("all", "plan") }),
  },
);
export type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** Two campaigns that a person has approved, and a journey that a program has published. */
export const BEGINNING: Act[] = [
  { act: "ask", name: "schedule", which: 0, how: 1, answer: "accept" },
  { act: "ask", name: "schedule", which: 1, how: 1, answer: "accept" },
  { act: "program", name: "publish", which: 0, how: 0 },
];

const due: Act[] = [
  { act: "due", which: 0 },
  { act: "work", only: "all" },
];
const joins: Act = { act: "program", name: "create_player", which: 0, how: 0 };

/**
 * Stories that chance seldom tells: a template and a segment that an agent would change though its human declines, a
 * sender that changes before the hour, and an audience that grows before it.
 */
export const STORIES: readonly Act[][] = [
  [0, 1].map((which): Act => ({ act: "ask", name: "edit_template", which, how: 0, answer: "decline" })),
  [{ act: "ask", name: "edit_segment", which: 1, how: 0, answer: "decline" }],
  [{ act: "settle", how: 0 }, ...due],
  [joins, joins, joins, joins, ...due],
];
