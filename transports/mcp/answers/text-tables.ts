import type { CallToolResult } from "@modelcontextprotocol/server";
import { csvRows } from "#db/stream/csv.ts";
import { isRecord, type ToolResult } from "./results.ts";

/** The result with its data as text, in one table: for clients that read only text. */
export function withTable(result: ToolResult): ToolResult {
  const { structuredContent: data } = result as CallToolResult;
  if (!isRecord(data) || result.isError === true) return result;
  const table = tableOf(data);
  const content = (result as CallToolResult).content ?? [];
  return { ...(result as CallToolResult), content: [...content, { type: "text", text: table }] };
}

/** Rows as CSV under their columns; a record as its fields and values. */
function tableOf({ format, ...data }: Record<string, unknown>): string {
  if (format === "csv") return `${data.csv}${beside(data, ["csv"])}`;
  if (format === "items") return `${JSON.stringify(data.items)}\n${beside(data, ["items"])}`;
  if (format !== "columns") return fields(data);
  const { columns, rows } = data as { columns: string[]; rows: unknown[][] };
  const records = rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at]])));
  return `${csvRows(columns, records, () => undefined)}${beside(data, ["columns", "rows"])}`;
}

function beside(data: Record<string, unknown>, without: readonly string[]): string {
  const rest = Object.entries(data).filter(([name]) => !without.includes(name));
  return rest.length === 0 ? "" : `\n${fields(Object.fromEntries(rest))}`;
}

function fields(record: Record<string, unknown>): string {
  const rows = Object.entries(record).map(([field, value]) => ({ field, value }));
  return csvRows(["field", "value"], rows, () => undefined);
}
