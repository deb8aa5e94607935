/** The fields of a node of PostgreSQL's own parse tree. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Found {
  type: string;
  fields: Fields;
}

/** A select, insert, update or delete, with the names of the CTEs that it may read. */
export interface Query extends Found {
  ctes: ReadonlySet<string>;
}

/** Fields that hold a node bare, without its type around it. */
const BARE: Readonly<Record<string, string>> = {
  relation: "RangeVar",
  larg: "SelectStmt",
  rarg: "SelectStmt",
  onConflictClause: "OnConflictClause",
  typeName: "TypeName",
};

const QUERIES = new Set(["SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"]);

/** All nodes below, from the outside in. A node that `enter` refuses is found, and nothing inside it. */
export function nodesIn(value: unknown, enter: (found: Found) => boolean = () => true): Found[] {
  const all: Found[] = [];
  collect(value, enter, all);
  return all;
}

/** Into one list. A generator passes each node up through all that are around it, which took most of the judge's time. */
function collect(value: unknown, enter: (found: Found) => boolean, all: Found[]): void {
  if (Array.isArray(value)) {
    for (const one of value) collect(one, enter, all);
    return;
  }
  for (const [name, inside] of Object.entries(fieldsOf(value))) {
    const type = typeOf(name, inside);
    if (type === null) {
      collect(inside, enter, all);
      continue;
    }
    const found = { type, fields: fieldsOf(inside) };
    all.push(found);
    if (enter(found)) collect(inside, enter, all);
  }
}

/** Every query of a statement, the inner ones included. */
export function queriesIn(value: unknown, ctes: ReadonlySet<string> = new Set()): Query[] {
  const outermost = nodesIn(value, (found) => !QUERIES.has(found.type));
  return outermost.flatMap(({ type, fields }) => {
    if (!QUERIES.has(type)) return [];
    const { withClause, ...rest } = fields;
    const { ctes: parts = [], recursive } = fieldsOf(withClause);
    const inParts: Query[] = [];
    let known = new Set(ctes);
    for (const part of listOf(parts)) {
      const { ctename, ctequery } = fieldsOf(fieldsOf(part).CommonTableExpr);
      const after = new Set(known).add(String(ctename));
      inParts.push(...queriesIn(ctequery, recursive ? after : known));
      known = after;
    }
    return [...inParts, { type, fields: rest, ctes: known }, ...queriesIn(rest, known)];
  });
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The parts of a name: of a column, a function or a type. A star is "*". */
export function namesIn(list: unknown): string[] {
  return listOf(list).map((one) => {
    const { String: text } = fieldsOf(one);
    return text === undefined ? "*" : String(fieldsOf(text).sval ?? "");
  });
}

function typeOf(name: string, inside: unknown): string | null {
  if (/^[A-Z]/.test(name)) return name;
  const [first] = Object.keys(fieldsOf(inside));
  return first !== undefined && !/^[A-Z]/.test(first) ? (BARE[name] ?? null) : null;
}
