import { counted } from "#runtime/counted.ts";
import "./compile-cache.ts";

const { migrate } = await import("#db/migrate.ts");
const { readConfig } = await import("#runtime/config.ts");
const { databaseError, errorText, say } = await import("./start/report.ts");

const PLACES = { distributed: "distributed by property_id", copied: "copied to every node" } as const;

try {
  const { databaseUrl } = readConfig(process.env);
  if (!databaseUrl) {
    say("DATABASE_URL: required. The embedded database migrates itself at the start.");
    process.exit(2);
  }
  const { applied, placed } = await migrate(databaseUrl);
  for (const { name, milliseconds } of applied) say(`${name}  ${milliseconds} ms`);
  for (const { table, place, milliseconds } of placed) say(`${table}  ${PLACES[place]}  ${milliseconds} ms`);
  const done = [
    ...(applied.length > 0 ? [`${applied.length} applied.`] : []),
    ...(placed.length > 0 ? [`${counted(placed.length, "table")} placed on the cluster.`] : []),
  ];
  say(done.join(" ") || "Up to date.");
} catch (error) {
  say(errorText(databaseError(error)));
  process.exit(1);
}
