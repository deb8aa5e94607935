import type { Config } from "#runtime/config.ts";
import type { Hold } from "#runtime/installation.ts";
import { mcpClientConfig } from "#transports/mcp/discovery.ts";
import type { Demo } from "./demo/demo.ts";
import { say } from "./report.ts";

/** Prints the addresses and first steps after a start. The secrets of a new demo are shown only this once. */
export function sayStarted(options: {
  config: Config;
  embedded: boolean;
  demo: Demo | null;
  hold: Hold | null;
  milliseconds: number;
}): void {
  const { config, embedded, demo, hold, milliseconds } = options;
  const { baseUrl, role } = config;
  const activity = role === "worker" ? "works on jobs" : `listens at ${baseUrl}`;
  say("");
  say(`  Player marketing ${activity}   (started in ${(milliseconds / 1000).toFixed(1)} s)`);
  say(`  Database   ${embedded ? `embedded PostgreSQL in ${config.dataDir}` : "DATABASE_URL"}`);
  if (hold) sayHeld(hold);
  else if (!config.sending) say("  Sending    off: SENDING=off");
  if (role !== "worker") {
    say(`  REST       ${baseUrl}/api           described in ${baseUrl}/api/openapi.json`);
    say(`  MCP        ${baseUrl}/api/mcp`);
    say(`  Console    ${baseUrl}/console`);
    if (demo) sayDemo(baseUrl, demo);
    else sayFirstSteps(embedded);
  }
  say("");
}

function sayHeld({ dataUntil }: Hold): void {
  say(
    "  Sending    held: this is another database than the one that sent before (a restored dump, or a clone).",
  );
  if (dataUntil) say(`             Its data ends at ${dataUntil}.`);
  say("             See what would go, then release it:  npm run tool -- release-sending --dry-run");
}

/** The commands find the embedded database by DATA_DIR, and any other as the service does. */
function sayFirstSteps(embedded: boolean): void {
  say("");
  say(
    embedded
      ? "  Make a property and a key, beside the running service:"
      : "  Make a property and a key, with DATABASE_URL and APP_SECRET set as for this start:",
  );
  say('    npm run tool -- create-property --name "My Casino" --slug my-casino --timezone America/New_York');
  say("    npm run tool -- create-api-key --property my-casino --name first");
}

function sayDemo(baseUrl: string, demo: Demo): void {
  const key = demo.apiKey ?? "<YOUR_KEY>";
  say("");
  say(`  Demo       property "${demo.property.name}" (${demo.property.id}), ${demo.players} players`);
  if (demo.apiKey) {
    say(`  API key    ${demo.apiKey}   (shown once: keep it)`);
  } else {
    say("  API key    shown at the first start. Make another one:");
    say("             npm run -s tool -- create-api-key --property demo --name mine --json");
  }
  for (const line of demo.admin ? adminLines(demo.admin) : []) say(line);
  if (demo.playerUrls) {
    say(`  Inbox      ${demo.playerUrls.inbox}   (a player's, for 30 days)`);
    say(`  Games      ${demo.playerUrls.games}   (the same player's)`);
    say(`  Push       ${demo.playerUrls.push}   (the same player's)`);
  }
  say("");
  say("  Try it:");
  say(`    curl -H 'X-Api-Key: ${key}' '${baseUrl}/api/players?limit=3&order=adt.desc.nullslast'`);
  say("");
  if (demo.campaignId) sayDemoCampaign(baseUrl, key, demo.property.id, demo.campaignId);
  say("  Connect an agent (MCP client configuration):");
  for (const line of JSON.stringify(mcpClientConfig(baseUrl, key), null, 2).split("\n")) say(`    ${line}`);
}

/** The lines about the console's user, who has a password that only the first start knows. */
export function adminLines({ id, email, password }: NonNullable<Demo["admin"]>): string[] {
  if (password) return [`  Admin      ${email}  password ${password}   (of the console, shown once)`];
  return [
    `  Admin      ${email}, with the password of the first start. Set another one:`,
    `             npm run -s tool -- update-user --user-id ${id} --password '<NEW_PASSWORD>'`,
  ];
}

function sayDemoCampaign(baseUrl: string, key: string, propertyId: string, campaignId: string): void {
  say("  Send the demo campaign, then see who got it and who was skipped, and why:");
  say(
    `    curl -X POST -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' ${baseUrl}/api/functions/send-campaign \\`,
  );
  say(`      -d '{"campaignId":"${campaignId}","propertyId":"${propertyId}"}'`);
  say(`    npm run tool -- campaign-stats --property demo --campaign-id ${campaignId}`);
  say("");
}
