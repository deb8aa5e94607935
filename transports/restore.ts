import "./compile-cache.ts";

const { restoreBackup } = await import("#db/backup/restore.ts");
const { readConfig } = await import("#runtime/config.ts");
const { fingerprintOf } = await import("#runtime/installation.ts");
const { storedSecret } = await import("#runtime/secrets/app-secret.ts");
const { errorText, say } = await import("./start/report.ts");
const { withStoppedDatabase } = await import("./start/stored-database.ts");

try {
  const [path] = process.argv.slice(2);
  if (!path) {
    say(
      "npm run restore -- FILE    brings a backup back into an empty database, while no service runs on it.",
    );
    process.exit(2);
  }
  const settings = readConfig(process.env);
  const secret = settings.appSecret ?? storedSecret(settings.dataDir);
  const fingerprint = secret === null ? null : fingerprintOf(secret);
  const { takenAt, tables } = await withStoppedDatabase(settings, (url) =>
    restoreBackup(url, path, fingerprint),
  );
  say(`${tables} tables as of ${takenAt} are back.`);
  say("Sending is held. After the start see what would go, then release it:");
  say("    npm run tool -- release-sending --dry-run");
} catch (error) {
  say(errorText(error));
  process.exit(1);
}
