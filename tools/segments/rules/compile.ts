import { z } from "zod";
import { adHoc, type Fragment, join, sql } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import type { FieldType } from "./field.ts";
import { COLUMNS, FAMILIES, FIELD_FORMS, fieldOf, JOURNEY_FAMILIES, type Messages } from "./fields.ts";
import { applied, describeOperators, OPERATOR_NAMES } from "./operators.ts";
import { type RuleScope, ruleScopeOf } from "./rule-scope.ts";
import { positionAt } from "./values.ts";

const MAX_CONDITIONS = 200;
const MAX_DEPTH = 8;
/** How deep segments may refer to one another. */
export const MAX_NESTING = 8;
/** Conditions and references in one statement, those of the segments included. */
const MAX_EXPANDED = 2_000;

/** One rule row. */
export const Condition = z.strictObject({
  field: z
    .string()
    .max(200)
    .describe(`A player's column, such as tier or adt, or ${FAMILIES.map(({ form }) => form).join(", ")}`),
  operator: z.enum(OPERATOR_NAMES),
  value: z.unknown().optional().describe("Leave it out if the operator takes no value"),
});
export type Condition = z.infer<typeof Condition>;

/** Rule rows joined by one logic, and groups of the same shape inside. */
export interface Group {
  logic: "and" | "or";
  conditions: Condition[];
  groups?: Group[] | undefined;
}
export const Group: z.ZodType<Group> = z
  .strictObject({
    logic: z.enum(["and", "or"]).default("and"),
    conditions: z.array(Condition).max(MAX_CONDITIONS).default([]),
    get groups(): z.ZodOptional<z.ZodArray<z.ZodType<Group>>> {
      return z.array(Group).max(MAX_CONDITIONS).optional();
    },
  })
  .meta({ id: "ConditionGroup" });

/** The rules and exclusions that make a segment's audience. */
export interface Audience extends Group {
  id: string;
  name: string;
  type: "static" | "dynamic";
  exclude_segment_ids: string[];
}

export interface Context {
  property: string;
  /** Every segment that the rules lead to, by id; see `loadSegments`. */
  segments?: ReadonlyMap<string, Audience>;
  /** The property's custom fields, where the rules name one. */
  customs?: CustomFields;
  /** The property's tiers from the lowest, where the rules name the tier. */
  tiers?: readonly string[];
  /** In a journey: its messages. */
  messages?: Messages | undefined;
  /** The property's country, where the rules name a phone. */
  home?: string | undefined;
  /** The ISO time for which the rules are judged. Default: the transaction's time. */
  at?: string | undefined;
}

/**
 * One boolean over `players p`: the rules match and the player is not deleted. The caller adds the property's
 * predicate. Its text belongs to these rules alone, so no connection keeps it prepared. Null counts as no match.
 * Throws `invalid` naming the row, `not_found` or `conflict` (a cycle) naming the segment.
 */
export function compileConditions(rules: Partial<Group>, context: Context): Fragment {
  const compilation = {
    scope: ruleScopeOf(context.property, context),
    segments: context.segments ?? new Map(),
    customs: context.customs ?? new Map(),
    tiers: context.tiers ?? [],
    messages: context.messages,
    size: 0,
    trail: [],
  };
  return adHoc(sql`(p.deleted_at is null and ${rulesSql(rules, "", compilation)})`);
}

/**
 * A date or time of players, as SQL over `players p`. Throws `invalid` for a field
 * that is none.
 */
export function compileDate(name: string, context: Context): { sql: Fragment; type: "date" | "timestamp" } {
  const { property, home, at, customs = new Map(), tiers = [] } = context;
  const wrong = (message: string) => invalid("field", `${quoted(name)} ${message}`);
  const field = fieldOf(name, {
    scope: ruleScopeOf(property, { home, at }),
    customs,
    tiers,
    segment: () => sql`false`,
    wrong,
  });
  if (field?.type === "date" || field?.type === "timestamp") return { sql: field.sql, type: field.type };
  throw wrong("is not a date of players; use birth_date, last_visit_at, or custom.<key> of a date");
}

/** The fields of conditions in journeys alone. */
export function describeJourneyFields() {
  return JOURNEY_FAMILIES.map(({ form, types, meaning }) => ({ name: form, types, meaning }));
}

/** The catalog of fields and operators, for documentation and for agents. Each fact stands in it once. */
export function describeFields() {
  const columns: Partial<Record<FieldType, string[]>> = {};
  for (const [name, type] of Object.entries(COLUMNS)) {
    columns[type] = [...(columns[type] ?? []), name];
  }
  return {
    columns_by_type: columns,
    families: FAMILIES.map(({ form, types, meaning }) => ({ name: form, types, meaning })),
    missing: "A player whose field is missing matches only by an operator with missing: true.",
    ...describeOperators(),
    limits: {
      conditions: MAX_CONDITIONS,
      depth: MAX_DEPTH,
      segments_deep: MAX_NESTING,
    },
  };
}

interface Compilation {
  scope: RuleScope;
  segments: ReadonlyMap<string, Audience>;
  customs: CustomFields;
  tiers: readonly string[];
  messages: Messages | undefined;
  /** Conditions and references so far: shared segments could grow the text exponentially. */
  size: number;
  /** The segments that the current condition stands in. */
  trail: Audience[];
}

function rulesSql(rules: Partial<Group>, path: string, compilation: Compilation): Fragment {
  const total = countConditions(rules, path, 1);
  if (total > MAX_CONDITIONS) {
    throw invalid(
      `${path}conditions`,
      `has ${total} conditions in total; at most ${MAX_CONDITIONS} are allowed`,
    );
  }
  return groupSql(rules, path, compilation);
}

function countConditions(
  { conditions = [], groups = [] }: Partial<Group>,
  path: string,
  depth: number,
): number {
  if (depth > MAX_DEPTH) throw invalid(path.slice(0, -1), `groups may lie ${MAX_DEPTH} deep at most`);
  if (conditions.length + groups.length === 0) {
    throw invalid(`${path}conditions`, "needs at least one condition: without any, every player would match");
  }
  return groups.reduce(
    (sum, group, index) => sum + countConditions(group, `${path}groups[${index}].`, depth + 1),
    conditions.length,
  );
}

function groupSql(group: Partial<Group>, path: string, compilation: Compilation): Fragment {
  const parts = [
    ...(group.conditions ?? []).map((row, index) =>
      conditionSql(row, `${path}conditions[${index}]`, compilation),
    ),
    ...(group.groups ?? []).map((inner, index) => groupSql(inner, `${path}groups[${index}].`, compilation)),
  ];
  return sql`(${join(parts, group.logic === "or" ? " or " : " and ")})`;
}

function conditionSql({ field: name, operator, value }: Condition, path: string, compilation: Compilation) {
  grow(compilation);
  const { scope, customs, tiers, trail } = compilation;
  // A segment means the same in every journey.
  const messages = trail.length === 0 ? compilation.messages : undefined;
  const wrong = (message: string) => invalid(`${path}.field`, `${quoted(name)} ${message}`);
  const segment = (id: string) => segmentSql(id, path, compilation);
  const field = fieldOf(name, { scope, customs, tiers, messages, segment, wrong });
  const forms = messages ? [...FIELD_FORMS, ...JOURNEY_FAMILIES.map(({ form }) => form)] : FIELD_FORMS;
  if (!field) throw wrong(`is not a field; use ${forms.join(", ")}`);
  return sql`(${applied(field, operator, value, positionAt(scope, path))})`;
}

function segmentSql(id: string, path: string, compilation: Compilation): Fragment {
  grow(compilation);
  const { segments, trail, scope } = compilation;
  const segment = segments.get(id);
  if (!segment)
    throw new Fault("not_found", {
      message: `${path}: segment ${id} is not in this property.`,
    });
  if (trail.includes(segment)) throw cycle([...trail.slice(trail.indexOf(segment)), segment]);
  if (trail.length === MAX_NESTING) {
    throw invalid(path, `segments may refer to one another ${MAX_NESTING} deep at most`);
  }
  const inside = { ...compilation, trail: [...trail, segment] };
  const own =
    segment.type === "static"
      ? sql`exists (select 1 from segment_members m where m.property_id = ${scope.property}
          and m.segment_id = ${id}::uuid and m.player_id = p.id)`
      : rulesSql(segment, `segment ${id} `, inside);
  const excluded = segment.exclude_segment_ids.map((each) => {
    return sql` and (${segmentSql(each, `segment ${id} exclude_segment_ids`, inside)}) is not true`;
  });
  compilation.size = inside.size;
  return sql`${own}${join(excluded, "")}`;
}

function grow(compilation: Compilation): void {
  compilation.size += 1;
  if (compilation.size > MAX_EXPANDED) {
    throw invalid(
      "conditions",
      `must be at most ${MAX_EXPANDED}, those of the segments referred to included`,
    );
  }
}

function cycle(trail: Audience[]): Fault {
  const names = trail.map((segment) => quoted(segment.name)).join(" → ");
  return new Fault("conflict", {
    message: `These segments refer to one another in a circle: ${names}.`,
  });
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}
