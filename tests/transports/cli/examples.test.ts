import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { needsProperty } from "#runtime/funnel/access.ts";
import { CATALOG } from "#tools/catalog.ts";
import { parseArguments } from "#transports/cli/arguments.ts";
import { exampleWords } from "#transports/cli/example.ts";
import { exampleOf } from "#transports/examples/examples.ts";
import { inProcess } from "../../support/command-line.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
  await service.database.db.asSystem((sql) => sql`update properties set slug = 'demo'`);
});
afterAll(() => service?.stop());

// That the input works in the demo is shown over REST by try-it.test.ts, and that the faces are alike by faces.test.ts.
test("the example in a command's help is read as the operation's example, in the demo property", async () => {
  for (const operation of CATALOG.operations.values()) {
    const { [operation.property ?? ""]: _, ...input } = exampleOf(operation);
    const [command, ...words] = exampleWords(operation);
    const readText = async (file: string) => {
      expect([file, operation.upload]).toEqual(["players.csv", expect.anything()]);
      return String(input[operation.upload?.[0] ?? ""]);
    };
    const given = await parseArguments(operation, words, readText, {});
    const name = command!.replaceAll("-", "_");
    expect([name, operation.input.parse({ ...required(operation), ...given.input })]).toEqual([
      operation.name,
      operation.input.parse({ ...required(operation), ...input }),
    ]);
    expect([name, given.property]).toEqual([name, needsProperty(operation) ? "demo" : undefined]);
    expect([name, given.out]).toEqual([name, operation.file ? `${command}.csv` : undefined]);
  }
});

/** The property, which the command's flag gives. */
function required({ property, input }: { property: string | null; input: { shape: object } }): object {
  return property && property in input.shape ? { [property]: "00000000-0000-7000-8000-000000000000" } : {};
}

test.each(["create_player", "list_players", "export_players", "create_import_job", "create_segment"])(
  "the example in the help of %s works as it is written",
  async (name) => {
    const folder = await mkdtemp(join(tmpdir(), "examples-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const operation = CATALOG.operations.get(name)!;
    const file = join(folder, "players.csv");
    await writeFile(file, String(exampleOf(operation).csv));
    const words = exampleWords(operation).map((word) =>
      word.replace(/^@players\.csv$/, `@${file}`).replace(/^[\w-]+\.csv$/, (out) => join(folder, out)),
    );
    const { exit, stderr } = await inProcess(service, words);
    expect(exit, `${words.join(" ")}: ${stderr}`).toBe(0);
    if (operation.file) expect(await readFile(words.at(-1)!, "utf8")).toContain("player_id");
  },
);
