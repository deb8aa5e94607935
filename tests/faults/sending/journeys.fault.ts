import { must } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { APP_SECRET, openPair, type Pair } from "../support/installation.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const PATIENCE = 240_000;
const CHOICES = ["finish_old", "move_matching_nodes", "exit_old"] as const;
type Choice = (typeof CHOICES)[number];

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    for (const choice of CHOICES) {
      const at = 0.1 + 0.8 * Math.random();
      report(
        `kill -9 of both that step, and ${choice}`,
        await killedJourney({ choice, at, people: long ? 10_000 : 3_000 }),
      );
    }
  }
};
export default fault;

const message = (id: string) => ({
  id,
  type: "message",
  config: { channel: "email", subject: id, body_html: "<p>Hello, {{ first_name }}.</p>" },
});
const rest = (amount: number) => ({
  id: "rest",
  type: "delay",
  config: { by: "duration", duration: { amount, unit: "days" } },
});
const tag = { id: "tag", type: "update_player", config: { add_tags: ["seen"] } };
const call = { id: "call", type: "webhook", config: { name: "step" } };
const halves = {
  id: "halves",
  type: "random_split",
  config: {
    splits: [
      { label: "a", percent: 50 },
      { label: "b", percent: 50 },
    ],
  },
};

function chain(nodes: { id: string }[]) {
  const all = [
    { id: "in", type: "trigger", config: { on: "api" } },
    ...nodes,
    { id: "end", type: "exit", config: {} },
  ];
  return { nodes: all, edges: all.slice(1).map(({ id }, index) => ({ from: all[index]!.id, to: id })) };
}

const FIRST = chain([message("one"), tag, rest(1), halves, message("two")]);
/** The same people's way, changed: the rest is longer, and a node is new. */
const SECOND = chain([message("one"), tag, rest(2), call, halves, message("two")]);

/**
 * People walk by two services. One is killed when that share has got its first message, and another version is
 * published by the other one, which is killed too. A third one goes on: the rest is over for all who stand in it.
 */
async function killedJourney({
  choice,
  at,
  people,
}: {
  choice: Choice;
  at: number;
  people: number;
}): Promise<Outcome> {
  const pair = await openPair();
  const scenario = await openScenario(pair.url);
  const startedAt = performance.now();
  let third: ServiceProcess | undefined;
  try {
    const allowed = await scenario.crowd(people);
    const journey = await published(pair, scenario);
    await enroll(pair, scenario, { journey, people });
    await until(
      "the first messages",
      PATIENCE,
      async () => (await mails(scenario)).length >= allowed.length * at,
    );
    await pair.first.kill();
    const cut = (await mails(scenario)).length;
    const inside = await publish(pair, scenario, { journey, choice });
    third = await startService({ DATABASE_URL: pair.url, APP_SECRET });
    await pair.second.kill();
    await until("the end of all", PATIENCE, async () => {
      await passRest(scenario, journey);
      return (await left(scenario, journey)) === 0;
    });
    return await judged(
      { service: third, scenario, journey, choice, people, allowed },
      {
        about: `cut at ${cut} of ${allowed.length} first messages; ${inside.finish} finish, ${inside.move} move, ${inside.exit} leave; done after ${seconds(performance.now() - startedAt)}`,
        overBefore: cut >= allowed.length && inside.finish + inside.move + inside.exit === 0,
      },
    );
  } finally {
    await third?.terminate();
    await scenario.close();
    await pair.close();
  }
}

interface Done {
  service: ServiceProcess;
  scenario: Scenario;
  journey: string;
  choice: Choice;
  people: number;
  allowed: string[];
}

async function judged(
  { service, scenario, journey, choice, people, allowed }: Done,
  { about, overBefore }: { about: string; overBefore: boolean },
): Promise<Outcome> {
  const kept = await mails(scenario);
  const about_ = { journeyId: journey, propertyId: scenario.id };
  const ask = (name: string) =>
    must(service, scenario.key, "POST", `/api/functions/${name}`, { body: about_ }).then(({ body }) => body);
  const { all_versions: figures } = await ask("journey-report");
  const verified = await ask("verify-journey");
  const wanted = allowed.flatMap((address) => [`${address} one`, `${address} two`]);
  const had = new Set(kept);
  const sum = figures.inside + figures.completed + figures.exited + figures.failed;
  return {
    about,
    ledger: {
      // With exit_old, those inside get nothing more.
      lost: choice === "exit_old" ? people - figures.people : wanted.filter((one) => !had.has(one)).length,
      doubled: repeats(kept),
      foreign: await scenario.foreign(),
    },
    problems: problemsOf({
      "it was over before it was killed": overBefore,
      [`entered ${figures.entered}, the parts ${sum}, the people ${people}`]:
        figures.entered !== people || sum !== people || figures.people !== people,
      [`the paths differ from the figures: ${JSON.stringify(verified.differences)}`]: !verified.ok,
      "somebody got a message who may not": kept.some((one) => !wanted.includes(one)),
      [`${figures.exited} left with ${choice}`]: figures.exited > 0 !== (choice === "exit_old"),
    }),
  };
}

async function published(pair: Pair, { id: propertyId, key }: Scenario): Promise<string> {
  const { body } = await must(pair.first, key, "POST", "/api/journeys", {
    body: { name: "Walk", draft_definition: FIRST },
  });
  await must(pair.first, key, "POST", "/api/functions/publish-journey", {
    body: { journeyId: body.id, propertyId },
  });
  return body.id;
}

async function publish(
  pair: Pair,
  { id: propertyId, key }: Scenario,
  { journey, choice }: { journey: string; choice: Choice },
): Promise<{ finish: number; move: number; exit: number }> {
  await must(pair.second, key, "PATCH", `/api/journeys/${journey}`, { body: { draft_definition: SECOND } });
  const { body } = await must(pair.second, key, "POST", "/api/functions/publish-journey", {
    body: { journeyId: journey, propertyId, onPublish: choice },
  });
  return body.inside;
}

/** Everybody, by both services at once and twice: nobody is to enter twice. */
async function enroll(
  { first, second }: Pair,
  { sql, id: propertyId, key }: Scenario,
  { journey, people }: { journey: string; people: number },
): Promise<void> {
  const players = await sql<{ id: string }[]>`select id from players where property_id = ${propertyId}`;
  const body = { journeyId: journey, propertyId, playerIds: players.map(({ id }) => id) };
  const answers = await Promise.all(
    [first, second].map((service) => must(service, key, "POST", "/api/functions/enroll-players", { body })),
  );
  const entered = answers.reduce((sum, answer) => sum + answer.body.entered, 0);
  if (entered !== people) throw new Error(`${entered} of ${people} entered`);
}

/** The rest of everybody who stands in it is over. */
async function passRest({ sql, id: propertyId }: Scenario, journey: string): Promise<void> {
  await sql`
    update journey_enrollments set wake_at = now()
    where property_id = ${propertyId} and journey_id = ${journey} and status = 'active' and node = 'rest'
      and wake_at > now()`;
  await sql`
    update queue set run_at = now()
    where property_id = ${propertyId} and name = 'step_journey' and state = 'ready' and run_at > now()`;
}

async function left({ sql, id: propertyId }: Scenario, journey: string): Promise<number> {
  const [row] = await sql<{ people: number }[]>`
    select count(*)::int as people from journey_enrollments
    where property_id = ${propertyId} and journey_id = ${journey} and status = 'active'`;
  return row!.people;
}

/** Each kept message: its address and the node that sent it. */
async function mails({ sql, id: propertyId }: Scenario): Promise<string[]> {
  const rows = await sql<{ mail: string }[]>`
    select recipient || ' ' || subject as mail from mailbox_messages where property_id = ${propertyId}`;
  return rows.map(({ mail }) => mail);
}
