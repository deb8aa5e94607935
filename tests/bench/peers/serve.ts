/** Tells the benchmark where this server listens, and answers its messages with the CPU time and the memory used. */
export function serve(port: number): void {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!({ cpu: user + system, memory: process.memoryUsage.rss() });
  });
  process.on("disconnect", () => process.exit(0));
  process.send!({ port });
}
