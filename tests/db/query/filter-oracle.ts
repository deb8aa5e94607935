import fc from "fast-check";
import type { Player } from "./thirty-players.ts";

/** Three-valued, as SQL is: null for unknown. */
type Truth = boolean | null;
type Value = string | number | boolean;

interface One {
  column: string;
  operator: string;
  not: boolean;
  operand: Value | Value[];
  /** As `column.operator=value` rather than `column=operator.value`, when it does not stand in a group. */
  dotted: boolean;
}

interface Several {
  logic: "and" | "or";
  not: boolean;
  members: (One | Several)[];
}

const tiers = ["Gold", "gold", "Silver", "Gold, Club", 'VIP "A"', "100%", "Größe", "back\\slash", "null", ""];
const tierValues = [...tiers, "a_b", "eq.Gold", "O(p)en", "日本🎰", "none", "{x}", "not.eq.Gold", "(Gold)"];
const patterns = [
  "G*",
  "*o*",
  "a_b",
  "a\\_b",
  "%",
  "*\\%",
  '*"*',
  "*\\\\*",
  "*,*",
  "日_🎰",
  "gold",
  "*(p)*",
  "*.",
];
const numbers = [-5, -1, 0, 100, 200.5, 1e300, 7];
const lists = [[], ["slots"], ["vip"], ["vip", "slots"], ["a,b"], ['c"d', "e\\f"], ["none"]];

const condition = (column: string, operators: readonly string[], operand: fc.Arbitrary<Value | Value[]>) =>
  fc.record({
    column: fc.constant(column),
    operator: fc.constantFrom(...operators),
    not: fc.boolean(),
    operand,
    dotted: fc.boolean(),
  });
const compared = ["eq", "neq", "gt", "gte", "lt", "lte"];
const some = <T extends Value>(values: readonly T[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength: 5 });

export const someCondition: fc.Arbitrary<One> = fc.oneof(
  condition("tier", ["eq", "neq"], fc.constantFrom(...tierValues)),
  condition("tier", ["like", "ilike"], fc.constantFrom(...patterns)),
  condition("tier", ["in"], some(tierValues)),
  condition("adt", compared, fc.constantFrom(...numbers)),
  condition("adt", ["in"], some(numbers)),
  condition("coin_in", compared, fc.constantFrom(-1, 0, 9007199254740991)),
  condition("is_vip", compared, fc.boolean()),
  condition("is_vip", ["is"], fc.constantFrom("null", "not_null", "true", "false", "unknown")),
  condition("custom->>vip", ["is"], fc.constantFrom("null", "not_null", "true", "false", "unknown")),
  condition("tier", ["is"], fc.constantFrom("null", "not_null")),
  condition("birth_date", compared, fc.constantFrom("1990-05-01", "1999-12-31", "2000-02-29")),
  condition("tags", ["eq", "neq", "cs", "cd", "ov"], fc.constantFrom(...lists)),
  condition("custom->>visits", ["eq", "neq"], fc.constantFrom("9", "10", "true")),
);

/** Each column with each of its operators and some operands, plain and negated. */
export const everyCondition: One[] = (
  [
    ["tier", ["eq", "neq"], tierValues],
    ["tier", ["like", "ilike"], patterns],
    ["tier", ["in"], [["Gold"], ["Gold, Club", 'VIP "A"', "back\\slash"], ["none", ""], []]],
    ["tier", ["is"], ["null", "not_null"]],
    ["adt", compared, numbers],
    ["adt", ["in"], [[100], [-5, 0, 200.5], []]],
    ["adt", ["is"], ["null", "not_null"]],
    ["coin_in", compared, [-1, 0, 9007199254740991]],
    ["is_vip", compared, [true, false]],
    ["is_vip", ["is"], ["null", "not_null", "true", "false", "unknown"]],
    ["custom->>vip", ["is"], ["null", "not_null", "true", "false", "unknown"]],
    ["birth_date", compared, ["1990-05-01", "1999-12-31", "2000-02-29"]],
    ["tags", ["eq", "neq", "cs", "cd", "ov"], lists],
    ["custom->>visits", ["eq", "neq"], ["9", "10", "true"]],
  ] as [string, string[], (Value | Value[])[]][]
).flatMap(([column, operators, operands]) =>
  operators.flatMap((operator) =>
    operands.flatMap((operand) => [
      { column, operator, operand, not: false, dotted: false },
      { column, operator, operand, not: true, dotted: false },
    ]),
  ),
);

export const someGroup: fc.Arbitrary<Several> = fc.letrec<{ group: Several; member: One | Several }>(
  (tie) => ({
    group: fc.record({
      logic: fc.constantFrom("and" as const, "or" as const),
      not: fc.boolean(),
      members: fc.array(tie("member"), { minLength: 1, maxLength: 3 }),
    }),
    member: fc.oneof({ maxDepth: 3, withCrossShrink: true }, someCondition, tie("group")),
  }),
).group;

/** The pair of a query string that asks for it. */
export function rendered(filter: One | Several): [string, string] {
  if ("logic" in filter) return [`${filter.not ? "not." : ""}${filter.logic}`, groupText(filter)];
  const not = filter.not ? "not." : "";
  if (!filter.dotted) return [filter.column, `${not}${filter.operator}.${operandText(filter, false)}`];
  return [`${filter.column.replace("->>", ".")}.${not}${filter.operator}`, operandText(filter, false)];
}

function groupText({ members }: Several): string {
  const texts = members.map((member) => {
    const not = member.not ? "not." : "";
    if ("logic" in member) return `${not}${member.logic}${groupText(member)}`;
    return `${member.column}.${not}${member.operator}.${operandText(member, true)}`;
  });
  return `(${texts.join(",")})`;
}

function operandText({ operator, operand }: One, nested: boolean): string {
  const quoted = (value: Value) => `"${String(value).replace(/["\\]/g, "\\$&")}"`;
  if (!Array.isArray(operand))
    return nested && typeof operand === "string" ? quoted(operand) : String(operand);
  const items = operand.map((item) => (typeof item === "string" ? quoted(item) : String(item))).join(",");
  return operator === "in" ? `(${items})` : `{${items}}`;
}

/** The verdict of the filter on the player, read row by row. */
export function holds(filter: One | Several, player: Player): Truth {
  const truth = "logic" in filter ? joined(filter, player) : judged(filter, player);
  return filter.not && truth !== null ? !truth : truth;
}

function joined({ logic, members }: Several, player: Player): Truth {
  const truths = members.map((member) => holds(member, player));
  const decisive = logic === "or";
  if (truths.includes(decisive)) return decisive;
  return truths.includes(null) ? null : !decisive;
}

function judged({ column, operator, operand }: One, player: Player): Truth {
  const value = fieldOf(column, player);
  if (operator === "is") {
    return (
      { null: value === null, not_null: value !== null, unknown: value === null }[String(operand)] ??
      String(value) === operand
    );
  }
  if (operator === "in" && (operand as Value[]).length === 0) return false;
  if (value === null) return null;
  if (operator === "in") return (operand as Value[]).includes(value as Value);
  if (operator === "like" || operator === "ilike")
    return alike(String(value), String(operand), operator === "ilike");
  if (Array.isArray(value)) return related(operator, value, operand as string[]);
  const sign = value === operand ? 0 : value < (operand as Value) ? -1 : 1;
  return (
    { eq: sign === 0, neq: sign !== 0, gt: sign > 0, gte: sign >= 0, lt: sign < 0, lte: sign <= 0 }[
      operator
    ] ?? null
  );
}

function fieldOf(column: string, player: Player): Value | string[] | null {
  if (column === "tags") return player.tags ?? [];
  if (column === "is_vip" || column === "custom->>vip")
    return (player.custom?.vip as boolean | undefined) ?? null;
  if (column === "custom->>visits") {
    const visits = player.custom?.visits ?? null;
    return visits === null ? null : String(visits);
  }
  return player[column as "tier" | "adt" | "coin_in" | "birth_date"] ?? null;
}

function related(operator: string, value: string[], operand: string[]): boolean {
  if (operator === "cs") return operand.every((item) => value.includes(item));
  if (operator === "cd") return value.every((item) => operand.includes(item));
  if (operator === "ov") return operand.some((item) => value.includes(item));
  const same = JSON.stringify(value) === JSON.stringify(operand);
  return operator === "eq" ? same : !same;
}

function alike(text: string, pattern: string, anyCase: boolean): boolean {
  const source = pattern.replace(/\\(.)|[*%]|_|[.()]/gsu, (taken, escaped?: string) => {
    if (escaped !== undefined) return escaped.replace(/[\\.()*]/, "\\$&");
    return { "*": ".*", "%": ".*", _: "." }[taken] ?? `\\${taken}`;
  });
  return new RegExp(`^${source}$`, anyCase ? "isu" : "su").test(text);
}
