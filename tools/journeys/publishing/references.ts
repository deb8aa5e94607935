import { isDeepStrictEqual } from "node:util";
import { Cron } from "croner";
import { Fault, type FaultDetail, toFault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { customFields, fitCustom } from "#tools/custom-fields/values.ts";
import type { Definition, ExitConditions, JourneyGoal, Node } from "#tools/journeys/definition/definition.ts";
import type { Problem } from "#tools/journeys/definition/structure.ts";
import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Group } from "#tools/segments/rules/compile.ts";
import { audienceBy, dateField, type Referred, referredBy } from "#tools/segments/rules/references.ts";
import { isEmpty, nodeConditionProblems, ruleProblems } from "./condition-problems.ts";

/** The parts of a journey that refer to other records. */
export interface Referring {
  definition: Definition;
  goal: JourneyGoal | null;
  exit_conditions: ExitConditions | null;
}

/** The records that all conditions of a journey refer to now. Throws `not_found` or `invalid`. */
export async function journeyReferences({ sql, property }: Tenant, journey: Referring): Promise<Referred> {
  const groups = [
    ...journey.definition.nodes.flatMap((node) => kindOf(node.type).conditions?.(node.config) ?? []),
    ...(journey.goal && !journey.goal.event ? [journey.goal] : []),
    ...(journey.exit_conditions ? [journey.exit_conditions] : []),
  ];
  const rules = { logic: "and" as const, conditions: [], groups: groups.map(asGroup) };
  return { ...(await referredBy(sql, property.id, rules)), messages: messagesOf(journey.definition) };
}

/** The channels of a definition's messages, by their nodes. */
function messagesOf({ nodes }: Definition): Record<string, string> {
  const messages = nodes.flatMap(({ id, type, config }) =>
    type === "message" ? [[id, config.channel]] : [],
  );
  return Object.fromEntries(messages);
}

function asGroup({ logic = "and", conditions = [], groups = [] }: Partial<Group>): Group {
  return { logic, conditions, groups };
}

const inSegment = (id: string): Group => ({
  logic: "and",
  conditions: [{ field: `segment.${id}`, operator: "in_segment" }],
});

/** The problems of names in nodes: the record is not there, or does not fit. */
export async function referenceProblems(tenant: Tenant, journey: Referring): Promise<Problem[]> {
  const problems: Problem[] = [];
  const check = async (node: string | null, field: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      const { status, message, details = [] } = toFault(error);
      if (status >= 500) throw error;
      if (details.length < 2) problems.push({ node, field: details[0]?.field ?? field, message });
      else
        problems.push(...details.map((one) => ({ node, ...one, message: `${one.field} ${one.message}.` })));
    }
  };
  const messages = messagesOf(journey.definition);
  for (const node of journey.definition.nodes) {
    problems.push(...(await nodeConditionProblems(tenant, node, messages)));
    await check(node.id, "config", () => checkNode(tenant, node));
  }
  const { goal, exit_conditions } = journey;
  const limits = [
    ...(goal && !goal.event && !isEmpty(goal) ? [{ rules: goal, at: "goal." }] : []),
    ...(exit_conditions ? [{ rules: exit_conditions, at: "exit_conditions." }] : []),
  ];
  for (const { rules, at } of limits) {
    const found = await ruleProblems(tenant, { rules, at, messages });
    problems.push(...found.map((one) => ({ node: null, ...one })));
  }
  return problems;
}

async function checkNode(tenant: Tenant, node: Node): Promise<void> {
  if (node.type === "delay" && node.config.by === "until_field") await checkDate(tenant, node.config.field);
  if (node.type === "add_to_segment") await checkList(tenant, node.config.segment_id);
  if (node.type === "update_player") await checkUpdate(tenant, node.config);
  if (node.type === "grant_game_play") await checkGame(tenant, node.config.game_id);
  if (node.type !== "trigger") return;
  const { config } = node;
  if (config.on === "game_play" && config.game_id) await checkGame(tenant, config.game_id);
  if (config.on === "date_field") await checkDate(tenant, config.field);
  if (config.on === "schedule") checkCron(config.cron, tenant.property.timezone);
  if ("segment_id" in config && config.segment_id)
    await checkEntrySegment(tenant, config.on, config.segment_id);
}

async function checkEntrySegment(tenant: Tenant, on: string, id: string): Promise<void> {
  const { type } = await segmentOf(tenant, id);
  if (type === "static" && (on === "segment_enter" || on === "segment_exit")) {
    throw wrong({
      field: "segment_id",
      message: "is a static list, which nobody enters by rules; use a dynamic segment, or enroll_players",
    });
  }
  // The rules of a segment that others refer to may be broken since.
  const { sql, property } = tenant;
  const rules = inSegment(id);
  audienceBy(property.id, rules, await referredBy(sql, property.id, rules));
}

async function checkDate({ sql, property }: Tenant, field: string): Promise<void> {
  const rules: Group = { logic: "and", conditions: [{ field, operator: "is_set" }] };
  dateField(field, property.id, await referredBy(sql, property.id, rules));
}

async function checkList(tenant: Tenant, id: string): Promise<void> {
  const { type } = await segmentOf(tenant, id);
  if (type !== "static")
    throw wrong({ field: "segment_id", message: "is a dynamic segment; only a static one has a list" });
}

async function segmentOf({ sql, property }: Tenant, id: string): Promise<{ type: string }> {
  const [segment] = await sql<{ type: string }[]>`
    select type from segments where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  if (segment) return segment;
  throw wrong({
    field: "segment_id",
    message: `names a segment that is not in this property: ${id}; list_segments shows them`,
  });
}

async function checkGame({ sql, property }: Tenant, id: string): Promise<void> {
  const [game] = await sql<{ status: string }[]>`
    select status from games where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  if (!game) {
    throw wrong({
      field: "game_id",
      message: `names a game that is not in this property: ${id}; list_games shows them`,
    });
  }
  if (game.status === "ended" || game.status === "archived")
    throw wrong({ field: "game_id", message: `names a game that is ${game.status}` });
}

async function checkUpdate(
  tenant: Tenant,
  config: { tier?: string | undefined; custom?: object | undefined },
) {
  const { sql, property } = tenant;
  const [settings] = await sql<{ tiers: string[] }[]>`select tiers from properties where id = ${property.id}`;
  const tiers = settings?.tiers ?? [];
  const wrongs: FaultDetail[] = [];
  if (config.tier !== undefined && tiers.length > 0 && !tiers.includes(config.tier)) {
    wrongs.push({ field: "tier", message: `is none of the property's tiers: ${tiers.join(", ")}` });
  }
  const fields = await customFields(tenant);
  for (const [key, value] of Object.entries(config.custom ?? {})) {
    const fitted = fitCustom(fields, key, value);
    if ("wrong" in fitted) wrongs.push({ field: `custom.${key}`, message: fitted.wrong });
    else if (!isDeepStrictEqual(fitted.value, value)) {
      wrongs.push({
        field: `custom.${key}`,
        message: `must be written as ${JSON.stringify(fitted.value)}`,
      });
    }
  }
  if (wrongs.length > 0) throw wrong(...wrongs);
}

function checkCron(pattern: string, timezone: string): void {
  try {
    const next = new Cron(pattern, { timezone, paused: true, mode: "5-part" }).nextRuns(2);
    if (next.length === 0) throw new Error("it names no time to come");
  } catch (error) {
    throw wrong({
      field: "cron",
      message: `is not a schedule: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

function wrong(...details: FaultDetail[]): Fault {
  return new Fault("invalid", {
    message: details.map(({ field, message }) => `${field} ${message}.`).join(" "),
    details,
  });
}
