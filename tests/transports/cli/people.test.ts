import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { promisify, stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { runCommand } from "#transports/cli/run.ts";
import { ROOT } from "../../support/checkout/source-files.ts";
import { environment, inProcess } from "../../support/command-line.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// The output for people who type commands in a terminal.

const exec = promisify(execFile);
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

let service: TestService;
let scenario: Scenario;
let mine: string[];
beforeAll(async () => {
  service = await startService();
  scenario = await newScenario(service);
  mine = ["--property", scenario.id];
});
afterAll(() => service?.stop());

const run = (...words: string[]) => inProcess(service, words);

/** A terminal of so many columns. */
function terminal(columns: number) {
  const open = () => {
    const pieces: string[] = [];
    const stream = new Writable({
      write: (piece: Buffer, _encoding, done) => {
        pieces.push(piece.toString());
        done();
      },
    });
    return { stream: Object.assign(stream, { columns, isTTY: true }), text: () => pieces.join("") };
  };
  const [stdout, stderr] = [open(), open()];
  return async (...words: string[]) => {
    const parts = async () => ({ ...service.internals, close: async () => {} });
    const host = { env: environment(service), stdout: stdout.stream, stderr: stderr.stream };
    const exit = await runCommand(words, host, parts);
    return { exit, stdout: plain(stdout.text()), stderr: plain(stderr.text()), raw: stdout.text() };
  };
}

const plain = (text: string) => stripVTControlCharacters(text).replaceAll("\r", "");
const widest = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

describe("a list in a terminal", () => {
  test("shows whole ids and the columns that matter, within the width", async () => {
    await scenario.player({ email: "terminal@example.com", player_id: "T1", tier: "Gold" });
    for (const columns of [80, 120]) {
      const { stdout, raw } = await terminal(columns)("list-players", ...mine);
      expect(stdout.split("\n")[2]).toMatch(UUID);
      expect(stdout).toContain("terminal@example.com");
      expect(widest(stdout)).toBeLessThanOrEqual(columns);
      expect(stdout).not.toContain("property_id");
      expect(raw).toContain("\u001b[1mid ");
    }
  });

  test("is CSV or JSON where that is asked for, with all columns", async () => {
    const { stdout } = await run("list-players", ...mine, "-o", "csv");
    expect(stdout.split("\n")[0]).toMatch(/^id,property_id,player_id,email,/);
    expect(stdout).toContain("terminal@example.com");
    expect(Object.keys(JSON.parse((await run("list-players", ...mine, "-o", "json")).stdout)[0])).toContain(
      "property_id",
    );
    expect(await run("list-players", ...mine, "-o", "yaml")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("--output is one of table, json, csv"),
    });
  });

  test("is without colors for NO_COLOR and for pipes", async () => {
    expect((await run("list-players", ...mine)).stdout).not.toContain("\u001b");
  });
});

describe("a result", () => {
  test("of an eligibility has the rules that block first, whole, with their records, and counts the others", async () => {
    const id = await scenario.player({ email: "blocked@example.com", player_id: "B1" });
    const { id: suppression } = await scenario.call("create_suppression", {
      channel: "email",
      address: "blocked@example.com",
    });
    const words = ["explain-eligibility", ...mine, "--player-id", id, "--channel", "email"];
    const { stdout } = await terminal(80)(...words);
    const [title, first, ...rest] = stdout.split("\n\n");
    expect(title).toBe(`email to ${id}: may not be sent`);
    expect(first).toMatch(/^blocks suppressed\n {4}\S.*\.\n/);
    expect(first).toContain(`suppressions ${suppression}, manual, since `);
    expect(rest.at(-1)).toMatch(/^\d+ others pass, \d+ are not about this\.\n/);
    expect(widest(stdout)).toBeLessThanOrEqual(80);
  });

  test("of a change has the fields that were changed, also those that others leave out", async () => {
    await run("create-custom-field", ...mine, "--key", "fav_game", "--type", "text");
    const id = await scenario.player({ email: "changed@example.com" });
    const words = ["--id", id, "--custom", '{"fav_game":"Slots"}', "--language", "null"];
    const { stdout } = await run("update-player", ...mine, ...words);
    expect(stdout).toMatch(/^custom +.*fav_game.*Slots/m);
    expect(stdout).toMatch(/^language *$/m);
    expect(stdout).not.toMatch(/^timezone/m);
  });

  test("of a new key has nothing twice", async () => {
    const { stdout } = await run("create-api-key", ...mine, "--name", "only once");
    expect(stdout.match(/only once/g)).toHaveLength(1);
    expect(stdout.match(UUID)).not.toBeNull();
    expect(stdout).toMatch(/^api_key +pk_/m);
  });

  test("says none where a list is empty, leaves out what has no value, and says what comes next", async () => {
    const id = await scenario.campaign({ name: "Next" });
    const { stdout, stderr } = await run("preflight-campaign", ...mine, "--campaign-id", id);
    expect(stdout).toMatch(/^errors +none$/m);
    expect(stdout).not.toContain("confirm_token");
    expect(stderr).toBe(
      `Next: player-marketing send-campaign --campaign-id ${id} --property ${scenario.id}\n`,
    );
    const text = await scenario.campaign({ name: "Next text", channel: "sms", body_text: "Hello" });
    expect((await run("preflight-campaign", ...mine, "--campaign-id", text)).stderr).toContain(
      `send-sms-campaign --campaign-id ${text}`,
    );
    const named = await run("preflight-campaign", ...mine, "--campaign-id", "Next text");
    expect(named.stderr).toContain(`Next: player-marketing send-sms-campaign --campaign-id ${text}`);
    const sent = await run("send-campaign", ...mine, "--campaign-id", id, "--no-wait");
    expect(sent.stdout).not.toMatch(/\n\n|body_html/);
    expect(sent.stderr).toContain(`campaign-stats --campaign-id ${id}`);
    expect((await run("list-players", ...mine, "--json")).stderr).toBe("");
  });
});

describe("a file", () => {
  test("of players is written where --out says, for its owner alone, and not onto the screen", async () => {
    const folder = await mkdtemp(join(tmpdir(), "out-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "players.csv");
    expect(await terminal(80)("export-players", ...mine)).toMatchObject({
      exit: 2,
      stdout: "",
      stderr: expect.stringMatching(/^--out names the file to write/),
    });
    const { exit, stdout, stderr } = await terminal(80)("export-players", ...mine, "--out", file);
    expect([exit, stdout, stderr]).toEqual([
      0,
      "",
      expect.stringMatching(/^Wrote \S+ \([\d,]+ bytes\)\.\n$/),
    ]);
    const text = await readFile(file, "utf8");
    expect(text).toBe((await run("export-players", ...mine)).stdout);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const rows = JSON.parse((await run("export-players", ...mine, "--json")).stdout);
    expect(rows.length).toBe(text.trim().split("\n").length - 1);
    expect(rows[0]).toMatchObject({ email: expect.stringContaining("@example.com") });
  });

  test("that cannot be written is named, and one that breaks off is not left half", async () => {
    expect(await run("list-players", ...mine, "--out", "/nowhere/x.csv")).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/^--out cannot be written \(ENOENT/),
    });
    const file = join(tmpdir(), `half-${randomUUID()}.csv`);
    const lost = await run("get-player", ...mine, "--id", randomUUID(), "--out", file);
    expect(lost.exit).toBe(1);
    for (const path of [file, `${file}.part`]) await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  test("that is mistyped and has no @ is not taken for its own text", async () => {
    for (const path of ["missing.csv", "lists/missing", "missing", "missing list, May"]) {
      expect(await run("create-import-job", ...mine, "--csv", path)).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining(`--csv: no file ${path}`),
      });
    }
  });
});

describe("work in the background", () => {
  const csv = (rows: number) =>
    ["player_id,email", ...Array.from({ length: rows }, (_, n) => `W${n},w${n}@example.com`)].join("\n");

  test("is waited for in a terminal, with a bar, and its end is the result", async () => {
    const { exit, stdout, stderr } = await terminal(100)("create-import-job", ...mine, "--csv", csv(50));
    expect([exit, stdout]).toEqual([0, expect.stringMatching(/^status +completed$/m)]);
    expect(stderr).toMatch(/Importing .*█ +100 % {2}50 of 50/);
  });

  test("is waited for with --wait, without a bar in a pipe, and is a failure where it fails", async () => {
    const there = ["--url", service.baseUrl, "--key", await keyOf()];
    for (const where of [mine, there]) {
      const words = ["create-import-job", ...where, "--csv", csv(5), "--wait", "--json"];
      const { exit, stdout, stderr } = await run(...words);
      expect([exit, JSON.parse(stdout), stderr]).toEqual([
        0,
        expect.objectContaining({ status: "completed", processed: 5 }),
        "",
      ]);
    }
    const broken = await run("create-import-job", ...mine, "--csv", "no,known,column\n1,2,3\n", "--wait");
    expect(broken).toMatchObject({ exit: 1, stdout: expect.stringMatching(/^status +failed$/m) });
  });

  test("of a campaign ends with its counts", async () => {
    await scenario.crowd(20, "wait");
    const id = await scenario.campaign();
    const sent = await run("send-campaign", ...mine, "--campaign-id", id, "--wait");
    expect(sent.exit).toBe(0);
    expect(sent.stdout).toMatch(/status +sent/);
    expect(sent.stdout).toMatch(/counts +audience \d+, sent \d+/);
    expect(await run("list-players", ...mine, "--wait")).toMatchObject({ exit: 2 });
  });

  test("of a campaign that is paused meanwhile is a failure, with the reason in its result", async () => {
    await scenario.crowd(20, "held");
    const id = await scenario.campaign({ throttle_per_minute: 1 });
    const waiting = run("send-campaign", ...mine, "--campaign-id", id, "--wait", "--json");
    const status = async () => (await scenario.call("get_campaign", { id })).status;
    await expect.poll(status).toBe("sending");
    await scenario.call("pause_campaign", { campaignId: id });
    expect(await waiting).toMatchObject({ exit: 1, stdout: expect.stringContaining('"status":"paused"') });
  });

  const keyOf = async () =>
    (await service.call("create_api_key", { property_id: scenario.id, name: "w" })).api_key as string;
});

describe("a wrong command", () => {
  test("is told the flags, not the fields, and those that were meant", async () => {
    for (const [words, said] of [
      [["campaign-stats", ...mine], "--campaign-id is required"],
      [["list-players", ...mine, "--limit", "abc"], "--limit must be a number"],
      [["get-player", ...mine], "--id is required"],
      [["list-players", ...mine, "--filter", "tierr.eq=Gold"], "--filter tierr.eq: unknown column"],
      [["export-players", ...mine, "--filter", "tier.eq=Gold"], "--filter: unknown flag"],
      [["schedule-campaign", ...mine], "--segment-id is required; it may be null"],
      [["list-players", "--propety", "x"], "--propety: unknown flag; did you mean --property?"],
      [["create-campain"], "There is no command create-campain. Did you mean create-campaign"],
      [["campaigns"], "list-campaigns"],
    ] as const) {
      const { exit, stderr, stdout } = await run(...words);
      expect([exit, stdout, stderr]).toEqual([2, "", expect.stringContaining(said)]);
    }
  });

  test("names commands where the service names tools", async () => {
    const segment = ["--segment-id", randomUUID(), "--csv", "player_id\nX\n"];
    const { stderr } = await run("create-import-job", ...mine, ...segment);
    expect(stderr).toContain("list-segments");
  });

  test("to a port that HTTP clients refuse says that nothing was sent", async () => {
    const { exit, stderr } = await run("list-players", "--url", "http://127.0.0.1:6000", "--key", "pk_x");
    expect([exit, stderr]).toEqual([
      1,
      expect.stringMatching(/^Nothing was sent to \S+: HTTP clients refuse/),
    ]);
  });
});

describe("help", () => {
  test("fits into the terminal, has an example, and names no tool of agents", async () => {
    for (const operation of CATALOG.operations.values()) {
      const command = operation.name.replaceAll("_", "-");
      const { stdout } = await terminal(80)(command, "--help");
      const text = stdout.split("\nExample\n");
      const breakable = stdout.replaceAll(/^.*('.{60,}'|\S{60,}).*$/gm, "");
      expect(widest(breakable), command).toBeLessThanOrEqual(80);
      expect(text[1], command).toContain(`  player-marketing ${command}`);
      const named = [...stdout.matchAll(/\b[a-z]+(_[a-z]+)+\b/g)].filter(([word]) =>
        CATALOG.operations.has(word),
      );
      expect(
        named.map(([word]) => word),
        command,
      ).toEqual([]);
    }
    const { stdout } = await run("help", "list-players");
    expect(stdout).toContain("--filter <column.operator=value>");
    expect(stdout).not.toContain("--filters");
    expect((await run("campaign-stats", "--help")).stdout).not.toContain("--property-id");
  });

  test("completes commands, flags and choices in bash", async () => {
    const { stdout: script } = await run("completion", "bash");
    const complete = async (...words: string[]) => {
      const typed = ["player-marketing", ...words];
      const ask = `${script}\nCOMP_WORDS=(${typed.map((one) => `'${one}'`).join(" ")}); COMP_CWORD=${typed.length - 1}; _player_marketing; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return (await exec("bash", ["-c", ask])).stdout.trim().split("\n");
    };
    expect(await complete("create-camp")).toEqual(["create-campaign"]);
    expect(await complete("get-player", "--i")).toEqual(["--id", "--idempotency-key"]);
    expect(await complete("compliance-check", "--channel", "e")).toEqual(["email"]);
    expect(await complete("list-players", "-o", "")).toEqual(["table", "json", "csv"]);
    expect((await run("completion", "zsh")).stdout).toContain("compdef _player_marketing player-marketing");
    expect(await run("completion", "fish")).toMatchObject({ exit: 2 });
  });

  test("the installed command runs from any folder, on the project's own Node", async () => {
    const folder = await mkdtemp(join(tmpdir(), "bin-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { bin, version } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));
    const command = join(folder, "player-marketing");
    await symlink(new URL(bin["player-marketing"], ROOT).pathname, command);
    await writeFile(join(folder, "node"), "#!/bin/sh\nexit 9\n", { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const { stdout } = await exec(command, ["--version"], { cwd: folder, env });
    expect(stdout).toMatch(new RegExp(`^player-marketing ${version}, API \\S+, Node v24\\.`));
  });
});
