/** Milliseconds of this thread's processor that something takes. What else the machine does is not in it. */
export async function workOf(doing: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await doing();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
