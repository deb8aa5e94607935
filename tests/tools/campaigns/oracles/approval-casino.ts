import { Fault } from "#runtime/faults.ts";
import { CATALOG } from "#tools/catalog.ts";
import { vendor } from "../../../support/job-runner.ts";
import { onceOverMcp } from "../../../support/operation-calls.ts";
import { scenarioIn } from "../../../support/scenario.ts";
import type { TestService } from "../../../support/service.ts";
import type { Act } from "./approval-acts.ts";
import { definition, type Made, requestOf } from "./approval-calls.ts";
import {
  audienceOf,
  type Campaign,
  isIn,
  isSame,
  listsOf,
  recipientsOf,
  type State,
  stands,
  stateOf,
  type World,
} from "./approvals.ts";

type Input = Record<string, unknown>;

/** The state of a campaign that somebody has accepted. */
interface Accepted {
  state: State;
  /** Players that were shown; null where nobody was shown a number. */
  count: number | null;
  /** The hour that was shown: now, or the time of the schedule. */
  hour: string;
  isDue: boolean;
  /** The state by settings of the property that a program has let stand: a call of its own may have approved them. */
  settled?: State;
}

/** A preview that nobody has answered yet. */
interface Pending {
  name: string;
  input: Input;
  token: string;
  message: string;
  shown: World;
}

const ON_THE_WAY = ["scheduled", "queued", "sending", "paused"];
const TO_SEND = ["send_campaign", "resume_campaign", "schedule_campaign"];

const PEOPLE = ["Gold", "Gold", "Gold", "Gold", "Gold", "Silver", "Silver"].map((tier, index) => {
  return { player_id: `p-${index + 1}`, tier, agreed: index !== 4 };
});

/** A property with a campaign that people have approved, its agent and its programs, and the model of what was accepted. */
export async function openCasino(service: TestService) {
  const { id: propertyId } = await service.newProperty({ from_email: "casino@example.com" });
  const scenario = scenarioIn(service, propertyId);
  const { api_key: key } = await service.call("create_api_key", {
    property_id: propertyId,
    name: "agent",
    rate_limit: 1_000_000,
  });
  const program = {
    actor: {
      type: "api_key" as const,
      id: "00000000-0000-7000-8000-000000000001",
      propertyId,
      scopes: ["read" as const, "write" as const],
      rateLimit: 1_000_000,
    },
    transport: "rest" as const,
  };
  const { sender, given } = vendor();
  const accepted = new Map<string, Accepted>();
  /** The words of a journey's message, by its version. */
  const published = new Map<number, State["words"]>();
  const pending: Pending[] = [];
  const checks: { campaignId: string; fingerprint: string; shown: World }[] = [];
  const wrong: string[] = [];
  let count = 0;

  const made = await furnish();
  let world = await look();

  async function furnish(): Promise<Made> {
    const call = scenario.call;
    await scenario.crowd(PEOPLE.length);
    await scenario.query(
      (sql) => sql`
        update players p set tier = t.tier, consents = case when t.agreed then consents else '{}' end
        from jsonb_to_recordset(${PEOPLE as never}::jsonb) as t(player_id text, tier text, agreed boolean)
        where p.property_id = ${propertyId} and p.player_id = t.player_id`,
    );
    await call("create_template", { name: "Template", subject: "First", html: "<p>First body</p>" });
    await call("create_template", { name: "Other", subject: "Second", html: "<p>Second body</p>" });
    const { id: list } = await call("create_segment", { name: "List", type: "static" });
    const { id: out } = await call("create_segment", { name: "Out", type: "static" });
    const inner = await call("create_segment", {
      name: "Inner",
      conditions: [{ field: "tier", operator: "in", value: ["Gold"] }],
    });
    const { id: outer } = await call("create_segment", {
      name: "Outer",
      conditions: [{ field: `segment.${inner.id}`, operator: "in_segment" }],
      exclude_segment_ids: [out],
    });
    const template = { subject: null, body_html: null, audience: null };
    const [{ id: template_id }] = await call("list_templates", { order: "created_at.asc" });
    const own = { audience: null, subject: "Third", body_html: "<p>Third body</p>" };
    await scenario.campaign({ ...template, template_id, segment_id: outer, name: "To gold" });
    await scenario.campaign({ ...own, segment_id: list, name: "To the list" });
    const message = { template_id };
    const { id: journey } = await call("create_journey", {
      name: "Welcome",
      draft_definition: definition({ inner: inner.id }, message),
    });
    const [first, second] = await call("list_players", { order: "created_at.asc" });
    for (const player of [first, second]) {
      await call("create_segment_member", { segment_id: list, player_id: player.id });
    }
    return { list, out, inner: inner.id, outer, journey };
  }

  async function look(): Promise<World> {
    const [row] = await scenario.query(
      (sql) => sql<[World & { house: World["house"] }]>`
        select
          (select coalesce(json_agg(json_build_object('id', id, 'tier', tier, 'status', status,
              'live', deleted_at is null, 'agreed', consents ->> 'email' = 'true') order by created_at, id), '[]')
            from players where property_id = ${propertyId}) as players,
          (select coalesce(json_agg(json_build_object('id', id, 'segment_id', segment_id, 'player_id', player_id)
              order by created_at, id), '[]')
            from segment_members where property_id = ${propertyId} and segment_id = any(
              select id from segments where property_id = ${propertyId} and type = 'static')) as members,
          (select coalesce(json_agg(json_build_object('player_id', player_id)), '[]') from segment_members
            where property_id = ${propertyId} and source = 'rule') as kept,
          (select coalesce(json_agg(s order by id), '[]') from segments s
            where property_id = ${propertyId} and deleted_at is null) as segments,
          (select coalesce(json_agg(t order by id), '[]') from templates t
            where property_id = ${propertyId} and deleted_at is null) as templates,
          (select coalesce(json_agg(m order by priority, id), '[]') from message_providers m
            where property_id = ${propertyId} and deleted_at is null) as providers,
          (select json_build_object('from_email', from_email, 'from_name', from_name, 'name', name,
              'legal_name', legal_name, 'footer', responsible_gaming_footer)
            from properties where id = ${propertyId}) as house,
          (select coalesce(json_agg(to_jsonb(c) || jsonb_build_object('live', deleted_at is null) order by id), '[]')
            from campaigns c where property_id = ${propertyId} and journey_id is null) as campaigns,
          (select coalesce(json_agg(json_build_object('id', id, 'player_id', player_id, 'version', version)), '[]')
            from journey_enrollments where property_id = ${propertyId}) as entries`,
    );
    return row;
  }

  const named = (message: string, { name }: Campaign) => message.includes(JSON.stringify(name));
  const find = ({ campaigns }: World, id: string) => campaigns.find((one) => one.id === id);

  /** A program's call, or one that is made in the console. */
  async function run(name: string, input: Input): Promise<Input | null> {
    try {
      return await service.call(name, input, propertyId, program);
    } catch (error) {
      if (error instanceof Fault && error.status < 500) return null;
      throw error;
    }
  }
  const agent = (name: string, input: Input) =>
    onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": key });

  /** A call that was done at once approves what it leaves. */
  function acceptBy(before: World, name: string, input: Input, shown: number | null | undefined): void {
    for (const campaign of world.campaigns) {
      const state = stateOf(world, campaign);
      const last = accepted.get(campaign.id);
      const sends = TO_SEND.includes(name) && [input.campaignId, input.campaign_id].includes(campaign.id);
      const earlier = find(before, campaign.id);
      if (last) last.settled = state;
      if (!sends && (!last || !earlier || isSame(stateOf(before, earlier), state))) continue;
      const isSameAudience = last !== undefined && isSame(last.state.audience, state.audience);
      const kept = isSameAudience && !sends ? last.count : null;
      const hour = sends ? hourOf(name, campaign) : last!.hour;
      const isDue = sends ? hour === "now" : last!.isDue;
      accepted.set(campaign.id, { state, count: shown ?? kept, hour, isDue });
    }
  }
  const hourOf = (name: string, { scheduled_at }: Campaign) =>
    name === "schedule_campaign" ? scheduled_at! : "now";

  /** A confirmed call approves what its words named. */
  function acceptShown(before: World, name: string, input: Input, message: string): void {
    for (const campaign of world.campaigns) {
      const earlier = find(before, campaign.id);
      if (!earlier || !ON_THE_WAY.includes(campaign.status)) continue;
      const last = accepted.get(campaign.id);
      const sends = TO_SEND.includes(name) && [input.campaignId, input.campaign_id].includes(campaign.id);
      const state = stateOf(world, campaign);
      const isNamed = named(message, campaign) || named(message, earlier);
      if (sends) {
        const hour = hourOf(name, campaign);
        const words = hour === "now" ? / now\.|goes on now/ : / on \w+, \w+ \d+, \d{4}/;
        if (!words.test(message)) wrong.push(`${name}: the hour ${hour} was not shown: ${message}`);
        const players = campaign.started_at === null ? audienceOf(world, campaign).size : null;
        accepted.set(campaign.id, { state, count: players, hour, isDue: hour === "now" });
        continue;
      }
      if (!last) continue;
      const isAsked = isNamed && message.includes("This changes what ");
      if (isAsked || !isSame(stateOf(before, earlier), state)) {
        if (!isNamed) wrong.push(`${name} changed ${campaign.name} and did not say so: ${message}`);
        const players = campaign.started_at === null ? audienceOf(world, campaign).size : last.count;
        accepted.set(campaign.id, { ...last, state, count: players });
      } else if (last.count !== null && campaign.started_at === null && isNamed) {
        const grown = audienceOf(world, campaign).size - audienceOf(before, earlier).size;
        accepted.set(campaign.id, { ...last, count: last.count + Math.max(0, grown) });
      }
    }
  }

  /** A call over MCP that nobody was asked about: it may not change what was accepted, nor who gets it. */
  function checkUnasked(before: World, name: string, input: Input): void {
    for (const campaign of world.campaigns) {
      const earlier = find(before, campaign.id);
      const last = accepted.get(campaign.id);
      if (!earlier || !last || !ON_THE_WAY.includes(campaign.status)) continue;
      const told = `${name} ${JSON.stringify(input)} unasked`;
      const [was, is] = [stateOf(before, earlier), stateOf(world, campaign)];
      if (campaign.started_at !== null) is.audience = was.audience;
      if (!isSame(was, is)) wrong.push(`${told}: another ${campaign.name}`);
      if (campaign.started_at !== null) continue;
      const known = recipientsOf(before, earlier);
      const joined = [...recipientsOf(world, campaign)].filter((id) => !known.has(id));
      if (joined.length > 0) wrong.push(`${told}: ${joined.length} more get ${campaign.name}`);
    }
    if (published.size === 0) return;
    const inside = (one: World) => one.players.filter((player) => isIn(one, made.inner, player));
    const known = new Set([
      ...inside(before).map(({ id }) => id),
      ...[...before.kept, ...before.entries].map((entry) => entry.player_id),
    ]);
    const risen = inside(world).filter(({ id }) => !known.has(id));
    const entered = world.entries.length - before.entries.length;
    if (entered > 0) wrong.push(`${name} unasked: ${entered} enter`);
    if (risen.length > 0) wrong.push(`${name} unasked: ${risen.length} come into the journey's segment`);
  }

  async function publishedNow(before: World): Promise<void> {
    const { current_version: version, draft_definition } = await scenario.call("get_journey", {
      id: made.journey,
    });
    if (version === null || published.has(version)) return;
    const { config } = draft_definition.nodes.find(({ id }: { id: string }) => id === "mail");
    const template = before.templates.find(({ id }) => id === config.template_id);
    published.set(version, {
      subject: config.subject ?? template?.subject ?? null,
      preheader: null,
      html: config.body_html ?? template?.html ?? null,
    });
  }

  async function confirm(one: Pending): Promise<void> {
    const before = world;
    const { name, input, token, message, shown } = one;
    const { isError, data } = await agent(name, { ...input, confirm_token: token });
    world = await look();
    if (data.confirmation_required) {
      if (isSame(shown, before)) wrong.push(`${name} ${JSON.stringify(input)} asked again: ${data.message}`);
      keep(name, input, data, before);
      return;
    }
    if (isError) return;
    // Other questions, such as those about a list, approve no whole campaign.
    const isWhole = TO_SEND.includes(name) || message.includes("This changes what ");
    for (const campaign of isWhole ? before.campaigns : []) {
      const was = find(shown, campaign.id);
      if (!was || !named(message, was) || !ON_THE_WAY.includes(find(world, campaign.id)!.status)) continue;
      if (!isSame(stateOf(shown, was), stateOf(before, campaign)))
        wrong.push(`${name}: a late token did what was not shown of ${campaign.name}`);
      if (!isSame(listsOf(shown, was), listsOf(before, campaign)))
        wrong.push(`${name}: a late token sends ${campaign.name} to another list than was shown`);
      const [then, now] = [audienceOf(shown, was).size, audienceOf(before, campaign).size];
      if (campaign.started_at === null && !stands(then, now))
        wrong.push(`${name}: a late token reached ${now} in place of ${then} by ${campaign.name}`);
    }
    acceptShown(before, name, input, message);
    if (name === "publish_journey") await publishedNow(before);
  }

  function keep(name: string, input: Input, data: Input, shown: World): Pending {
    const kept = { name, input, token: String(data.confirm_token), message: String(data.message), shown };
    pending.push(kept);
    return kept;
  }

  async function ask(name: string, input: Input, answer: string): Promise<void> {
    const before = world;
    const { isError, data } = await agent(name, input);
    world = await look();
    if (data.confirmation_required) {
      if (!isSame(before, world)) wrong.push(`${name}: the question changed something`);
      const kept = keep(name, input, data, before);
      if (answer !== "leave") pending.pop();
      if (answer === "accept") await confirm(kept);
      return;
    }
    if (!isError) checkUnasked(before, name, input);
  }

  /** Lets the jobs run, and compares what starts, what is held and what goes out. */
  async function work(only: "all" | "plan"): Promise<void> {
    const before = world;
    const from = given.length;
    const options = { open: () => sender as never };
    if (only === "plan") {
      for (const one of ["fire_campaign", "plan_campaign"]) await scenario.work({ ...options, only: one });
    } else await scenario.work(options);
    world = await look();
    for (const campaign of world.campaigns) {
      const earlier = find(before, campaign.id)!;
      if (earlier.started_at === null && campaign.started_at !== null) checkStart(before, earlier);
      if (earlier.status !== "paused" && campaign.status === "paused") checkHold(before, earlier, campaign);
    }
    await checkMessages(before, given.slice(from));
  }

  function checkStart(before: World, campaign: Campaign): void {
    const last = accepted.get(campaign.id);
    if (!last) return void wrong.push(`${campaign.name} started, and nobody had accepted it`);
    if (!last.isDue) wrong.push(`${campaign.name} started before its hour ${last.hour}`);
    const state = stateOf(before, campaign);
    const isAccepted = isSame(state, last.state) || isSame(state, last.settled);
    if (isAccepted) last.state = state;
    else
      wrong.push(
        `${campaign.name} started as ${JSON.stringify(state)}, accepted was ${JSON.stringify(last.state)}`,
      );
    const players = audienceOf(before, campaign).size;
    if (!stands(last.count, players))
      wrong.push(`${campaign.name} started for ${players}, accepted were ${last.count}`);
  }

  function checkHold(before: World, campaign: Campaign, { status_reason }: Campaign): void {
    const last = accepted.get(campaign.id);
    if (!last || !status_reason?.startsWith("changed since")) return;
    const players = audienceOf(before, campaign).size;
    if (isSame(stateOf(before, campaign), last.state) && stands(last.count, players))
      wrong.push(
        `false alarm: ${campaign.name} is held for ${players}, accepted ${last.count}: ${status_reason}`,
      );
  }

  async function checkMessages(before: World, messages: typeof given): Promise<void> {
    if (messages.length === 0) return;
    const sends = await scenario.query(
      (sql) => sql<{ id: string; campaign_id: string; player_id: string; version: number | null }[]>`
        select s.id, s.campaign_id, s.player_id, e.version from campaign_sends s
          left join journey_enrollments e on e.property_id = ${propertyId} and e.id = s.enrollment_id
        where s.property_id = ${propertyId} and s.id = any(${messages.map(({ id }) => id)}::uuid[])`,
    );
    for (const message of messages) {
      const send = sends.find(({ id }) => id === message.id)!;
      const last = accepted.get(send.campaign_id);
      const words = send.version === null ? last?.state.words : published.get(send.version);
      if (message.subject !== words?.subject || !message.html?.includes(words.html!))
        wrong.push(`sent ${message.subject}, accepted was ${JSON.stringify(words)}`);
      if (send.version !== null || !last) continue;
      if (last.state.sender.email !== null && message.from.email !== last.state.sender.email)
        wrong.push(`sent from ${message.from.email}, accepted was ${last.state.sender.email}`);
      if (message.from.name !== last.state.sender.name)
        wrong.push(`sent from ${message.from.name}, accepted was ${last.state.sender.name}`);
      const campaign = find(before, send.campaign_id)!;
      if (campaign.started_at === null && !audienceOf(before, campaign).has(send.player_id))
        wrong.push(`${campaign.name} went to somebody outside of its audience`);
    }
  }

  async function press(which: number, how: number): Promise<void> {
    const check = checks[which % Math.max(1, checks.length)];
    if (!check) return;
    const { campaignId, fingerprint, shown } = check;
    const before = world;
    const [was, now] = [find(shown, campaignId)!, find(before, campaignId)!];
    const name = how % 2 ? "send_campaign" : "schedule_campaign";
    const scheduled_at = new Date(Date.now() + 400 * 86_400_000).toISOString();
    const input =
      how % 2
        ? { campaignId, propertyId, fingerprint }
        : { campaign_id: campaignId, segment_id: null, scheduled_at, fingerprint };
    const done = await run(name, input);
    world = await look();
    const [then, players] = [audienceOf(shown, was).size, audienceOf(before, now).size];
    const isShown = isSame(stateOf(shown, was), stateOf(before, now)) && stands(then, players);
    if (!done) return;
    if (!isShown)
      wrong.push(`${name}: pressed ${now.name}, which was not shown so, for ${players}, shown ${then}`);
    acceptBy(before, name, input, then);
  }

  async function step(one: Act): Promise<void> {
    count += 1;
    const campaigns = world.campaigns.filter(({ live }) => live);
    switch (one.act) {
      case "ask":
      case "program": {
        const request = requestOf(one.name, one, { world, made, propertyId, count });
        if (!request) return;
        const [name, input] = request;
        if (one.act === "ask") return ask(name, input, one.answer);
        const before = world;
        if (!(await run(name, input))) return;
        world = await look();
        acceptBy(before, name, input, null);
        if (name === "publish_journey") await publishedNow(before);
        return;
      }
      case "check": {
        const campaign = campaigns[one.which % Math.max(1, campaigns.length)];
        if (!campaign) return;
        const answer = await run("preflight_campaign", { campaignId: campaign.id, propertyId });
        if (answer)
          checks.push({ campaignId: campaign.id, fingerprint: String(answer.fingerprint), shown: world });
        return;
      }
      case "look": {
        const campaign = campaigns[one.which % Math.max(1, campaigns.length)];
        if (!campaign) return;
        const { data } = await agent("preflight_campaign", { campaignId: campaign.id, propertyId });
        if (!data.confirm_token) return;
        keep("send_campaign", { campaignId: campaign.id, propertyId }, data, world);
        return;
      }
      case "press":
        return press(one.which, one.how);
      case "late": {
        const [late] = pending.splice(one.which % Math.max(1, pending.length), 1);
        if (late) await confirm(late);
        return;
      }
      case "settle": {
        const settings = [{ from_email: `h${count}@example.com` }, { legal_name: `Casino ${count}` }];
        await service.call("update_property", { propertyId, ...settings[one.how % 2] });
        world = await look();
        return;
      }
      case "due": {
        const scheduled = world.campaigns.filter(({ status }) => status === "scheduled");
        const campaign = scheduled[one.which % Math.max(1, scheduled.length)];
        if (!campaign) return;
        await scenario.comeDue(campaign.id);
        world = await look();
        const last = accepted.get(campaign.id);
        if (last) last.isDue = true;
        return;
      }
      case "work":
        return work(one.only);
    }
  }

  /** Time comes for all that waits, and everything goes out that may. */
  async function end(): Promise<void> {
    for (let index = 0; index < 3; index += 1) {
      for (const { status } of world.campaigns)
        if (status === "scheduled") await step({ act: "due", which: index });
      await work("all");
    }
  }
  return { step, end, wrong: () => wrong };
}
