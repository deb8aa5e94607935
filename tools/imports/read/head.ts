import { readCell } from "#db/stream/csv.ts";
import { Fault } from "#runtime/faults.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import { records, survey } from "./csv.ts";
import { namedTarget } from "./layout.ts";

const ROWS = 20;
const EXAMPLES = 3;
const SHOWN = 80;

interface Head {
  delimiter: string;
  encoding: string;
  columns: { name: string; field: string | null; examples: string[] }[];
}

/** The columns of a file by its first bytes, each with its field and examples. A last row that is cut off is left out. */
export async function headOf(
  { bytes, isWhole }: { bytes: Buffer; isWhole: boolean },
  form: Pick<ImportParams, "delimiter" | "has_header" | "encoding" | "decimal">,
  customs: CustomFields,
): Promise<Head> {
  // The cut may fall within the bytes of one letter.
  const lines = isWhole ? bytes : bytes.subarray(0, bytes.lastIndexOf("\n") + 1 || bytes.length);
  const found = await survey(streamOf(lines), form);
  const rows: string[][] = [];
  try {
    for await (const cells of records(streamOf(lines), found)) {
      rows.push(cells.map((cell) => readCell(cell).trim()));
      if (rows.length > ROWS) break;
    }
  } catch (error) {
    // The bytes end within a quoted cell.
    if (isWhole || rows.length === 0) throw error;
  }
  const [first] = rows;
  if (!first) throw new Fault("invalid", { message: "The file is empty." });
  const body = form.has_header ? rows.slice(1) : rows;
  const named = namedTarget(customs);
  const columns = first.map((cell, index) => {
    const name = form.has_header ? cell : String(index + 1);
    const values = body.map((cells) => cells[index] ?? "").filter((value) => value !== "");
    const examples = [...new Set(values)].slice(0, EXAMPLES).map((value) => value.slice(0, SHOWN));
    return { name, field: form.has_header ? named(name) : null, examples };
  });
  return { delimiter: found.delimiter, encoding: found.encoding, columns };
}

async function* streamOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
