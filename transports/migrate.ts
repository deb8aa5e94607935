import "./compile-cache.ts";

const { migrate } = await import("#db/migrate.ts");
const { readConfig } = await import("#runtime/config.ts");
const { databaseError, errorText, say } = await import("./start/report.ts");

try {
  const { databaseUrl } = readConfig(process.env);
  if (!databaseUrl) {
    say("DATABASE_URL: required. The embedded database migrates itself at the start.");
    process.exit(2);
  }
  const applied = await migrate(databaseUrl);
  for (const { name, milliseconds } of applied) say(`${name}  ${milliseconds} ms`);
  say(applied.length === 0 ? "Up to date." : `${applied.length} applied.`);
} catch (error) {
  say(errorText(databaseError(error)));
  process.exit(1);
}
