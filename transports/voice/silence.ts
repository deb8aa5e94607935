/** Waits for a silence of a call. */
export interface SilenceTimer {
  /** Waits for this time from now, in place of any earlier wait. */
  start(ms: number, then: () => void): void;
  /** Begins the same wait again. */
  refresh(): void;
  /** Does not end while something that was heard is weighed. */
  pause(): void;
  /** Waits for the rest of a wait that was paused. */
  resume(): void;
  stop(): void;
}

export function silenceTimer(): SilenceTimer {
  let timer: NodeJS.Timeout | undefined;
  let wait: { until: number; ms: number; then: () => void } | undefined;
  const arm = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const due = wait;
      wait = undefined;
      due?.then();
    }, ms);
    timer.unref();
  };
  const start = (ms: number, then: () => void) => {
    wait = { until: Date.now() + ms, ms, then };
    arm(ms);
  };
  return {
    start,
    refresh: () => {
      if (wait) start(wait.ms, wait.then);
    },
    pause: () => clearTimeout(timer),
    resume: () => {
      if (wait) arm(Math.max(0, wait.until - Date.now()));
    },
    stop: () => {
      clearTimeout(timer);
      wait = undefined;
    },
  };
}
