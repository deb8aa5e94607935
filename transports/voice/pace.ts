import { LISTEN_SECONDS } from "#tools/voice/problems.ts";

/** How fast a call goes. */
export interface CallPace {
  /** Milliseconds that a voice needs for a second's words. */
  secondMs: number;
  /** Milliseconds of silence after our words. */
  listenMs: number;
}

export const CALL_PACE: CallPace = { secondMs: 1_000, listenMs: LISTEN_SECONDS * 1_000 };
