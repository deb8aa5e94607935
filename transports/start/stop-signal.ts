/**
 * Resolves with the first signal to stop. npm's shell does not pass its own signal on, so the end of the parent counts
 * too. A process without a listener dies of a signal, and as the first of a container ignores it.
 */
export function stopSignal(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, resolve);
  if (process.env.npm_lifecycle_event === undefined) return promise;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    resolve("npm ended");
  }, 250);
  watch.unref();
  return promise;
}
