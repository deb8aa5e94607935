/** How a call ended. `barred`: the gate closed before the person picked up. `dropped`: the line to us broke. */
export const OUTCOMES = {
  completed: "The call was said to its end.",
  opted_out: "The person stopped all calls, by key or by speech.",
  hung_up: "The person hung up.",
  voicemail_left: "A machine answered, and took the message.",
  voicemail_skipped: "A machine answered, and no message was left.",
  no_answer: "Nobody answered.",
  busy: "The line was busy.",
  failed: "The vendor could not make the call.",
  abandoned: "A person answered, and heard nothing from us in time.",
  barred: "A rule closed before the person picked up, so nothing was said.",
  time_up: "The call reached its longest time.",
  dropped: "The connection to the vendor broke in the call.",
} as const;
export type CallOutcome = keyof typeof OUTCOMES;
