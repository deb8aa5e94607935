import "./compile-cache.ts";

const { takeBackup } = await import("#db/backup/take.ts");
const { readConfig } = await import("#runtime/config.ts");
const { errorText, say } = await import("./start/report.ts");
const { withDatabase } = await import("./start/stored-database.ts");

try {
  const [path] = process.argv.slice(2);
  if (!path) {
    say("npm run backup -- FILE    writes one consistent copy of the database, while the service runs.");
    process.exit(2);
  }
  const settings = readConfig(process.env);
  const { takenAt, tables, bytes } = await withDatabase(settings, (url) => takeBackup(url, path));
  say(`${tables} tables as of ${takenAt}: ${path}, ${(bytes / 1_000_000).toFixed(1)} MB`);
  const secret = settings.databaseUrl ? "APP_SECRET" : `${settings.dataDir}/app-secret`;
  say(`It holds personal data, and not the secret. Keep ${secret} too, in another place.`);
} catch (error) {
  say(errorText(error));
  process.exit(1);
}
