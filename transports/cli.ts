import "./compile-cache.ts";

const { runCommand } = await import("./cli/run.ts");
process.exitCode = await runCommand(process.argv.slice(2), process);
