/** Tells the benchmark where this server listens, and answers each of its messages with the CPU time used so far. */
export function serve(port: number): void {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send!({ cpu: user + system });
  });
  process.on("disconnect", () => process.exit(0));
  process.send!({ port });
}
