import { afterAll, beforeAll, expect, test } from "vitest";
import { inSlices, inTurns, stepped } from "#runtime/limits/turns.ts";
import { compileEmail, playerVariables } from "#tools/templates/rendering/email-template.ts";
import { parseField } from "#tools/templates/rendering/liquid.ts";
import { newScenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

const LOOPS =
  "{% for a in (1..100) %}{% for b in (1..100) %}{% for c in (1..100) %}x{% endfor %}{% endfor %}{% endfor %}";
const property = { name: "Lucky Star" };

test.each([
  ["plain", "Hello {{ first_name }}"],
  ["loops", "{% for a in (1..30) %}{% if a > 3 %}{% break %}{% endif %}{{ a }}{% endfor %}"],
  ["captures", '{% capture x %}{{ first_name | append: "!" }}{% endcapture %}{{ x }}{{ x | upcase }}'],
  ["a missing variable", "Hello {{ nobody }}"],
  ["an error in a loop", "{% for a in (1..3) %}{{ a }}{{ player.nothing }}{% endfor %}"],
  ["an empty value", "{% assign x = nothing %}{{ x }}"],
])("a render in slices says the same as one at once: %s", async (_, html) => {
  const email = compileEmail({ subject: "Hi {{ first_name }}", html: `<p>${html}</p><p>&amp; more</p>` });
  const variables = playerVariables({ first_name: "Ana" }, property);
  const outcome = (work: () => unknown) => {
    try {
      return { value: work() };
    } catch (error) {
      return { error: String(error) };
    }
  };
  const apart = await inSlices(() => email.render(variables)).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: String(error) }),
  );
  expect(apart).toEqual(outcome(() => email.render(variables)));
});

test("a render that never ends is stopped, and lets others work meanwhile", async () => {
  const field = parseField("html", LOOPS, "html");
  // By the processor's time: a busy machine gives the render few slices, and each of them is as short.
  let last = process.threadCpuUsage();
  let longest = 0;
  const turn = () => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  };
  const turns = setInterval(turn, 1);
  await expect(inTurns("one", () => field.render({}))).rejects.toMatchObject({ code: "invalid" });
  clearInterval(turns);
  turn();
  expect(longest).toBeLessThan(50);
});

test("a part is not stopped for the time that the machine gives to others", async () => {
  const others = new Int32Array(new SharedArrayBuffer(4));
  const begin = function* () {
    // The thread stands still, as while others have the processor: longer in all than a part may work.
    for (let step = 0; step < 40; step++) yield Atomics.wait(others, 0, 0, 10);
    return "done";
  };
  await expect(inTurns("patient", () => stepped(begin, () => "at once"))).resolves.toBe("done");
});

test("a render at once is not disturbed by one that waits between its slices", async () => {
  const slow = parseField("html", LOOPS, "html");
  const quick = parseField("html", "{{ 1 }}", "html");
  const rendered = new Set<string>();
  const between = setInterval(() => rendered.add(quick.render({})), 1);
  await inSlices(() => slow.render({})).catch(() => {});
  clearInterval(between);
  expect([...rendered]).toEqual(["1"]);
});

test("a property's renders wait their turn, and another property's goes between them", async () => {
  const slow = parseField("html", LOOPS, "html");
  const quick = parseField("html", "{{ 1 }}", "html");
  const ended: string[] = [];
  const many = Array.from({ length: 3 }, () =>
    inTurns("greedy", () => slow.render({})).catch(({ code }: { code: string }) => ended.push(code)),
  );
  await Promise.all([inTurns("other", () => quick.render({})).then(() => ended.push("other")), ...many]);
  // Of three heavy ones at once, the last is told to come again.
  expect(ended.toSorted()).toEqual(["invalid", "invalid", "other", "unavailable"]);
  expect(ended.at(-1)).toBe("invalid");
});

test("the analysis of many tags takes no time that grows with their square", () => {
  const source = "{{ a | default: 'x' | upcase | downcase | append: 'y' }}".repeat(4_900);
  const from = process.cpuUsage();
  expect(parseField("html", source, "html").variables).toEqual(["a"]);
  const { user } = process.cpuUsage(from);
  expect(user / 1000).toBeLessThan(1_000);
});

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service.stop());

test("one tenant's slow previews hold up no request of another tenant", async () => {
  const greedy = await newScenario(service);
  await greedy.crowd(3);
  const heavy = await greedy.campaign({ body_html: `${LOOPS}{{ unsubscribe_url }}` });
  let running = true;
  const attacks = Promise.allSettled(Array.from({ length: 20 }, () => greedy.preflight(heavy))).then(
    () => (running = false),
  );
  // By the thread's processor time: a busy machine slows both tenants alike.
  const waits: number[] = [];
  while (running && waits.length < 100) {
    const from = process.threadCpuUsage();
    expect((await service.get("/api/players?limit=1")).status).toBe(200);
    const { user, system } = process.threadCpuUsage(from);
    waits.push((user + system) / 1_000);
  }
  waits.sort((one, other) => one - other);
  expect(waits.length).toBeGreaterThan(20);
  expect(waits[Math.floor(waits.length * 0.9)]).toBeLessThan(100);
  await attacks;
});
