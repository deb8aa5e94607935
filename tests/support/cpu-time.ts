/** Milliseconds of the processor that this thread takes for the work, without the work of others. */
export async function workOf(doing: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await doing();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
