import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { maskedCell } from "#runtime/masking/values.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { customFields } from "#tools/custom-fields/values.ts";
import { params } from "./job/import-job.ts";
import { headOf } from "./read/head.ts";
import { fieldNames } from "./read/layout.ts";
import { fileHead } from "./upload.ts";

const { delimiter, has_header, encoding, decimal } = params;

export default tool({
  name: "read_import_file",
  title: "Look into a file to be imported",
  description:
    "Reads the first rows of a file uploaded by create_upload_link: its columns, the player field that each name fits, and examples. Then create_import_job can map the others. Changes nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    upload_id: z.uuid().describe("From create_upload_link, or of a dry run"),
    delimiter,
    has_header,
    encoding,
    decimal,
  },
  output: z.object({
    filename: z.string().nullable(),
    size: z.int().describe("Bytes"),
    delimiter: z.string(),
    encoding: z.string(),
    columns: z.array(
      z.object({
        name: z.string(),
        field: z.string().nullable().describe("The field that it fills without a mapping; null: none"),
        examples: z.array(z.string()).describe("Of the first rows"),
      }),
    ),
    fields: z.array(z.string()).describe("All fields that a mapping can name"),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { upload_id, ...form }) {
    const upload = await findUpload(context, upload_id);
    const customs = await customFields(context);
    const head = await fileHead(context, upload_id);
    const read = await headOf(head, form, customs);
    const columns = read.columns.map(({ name, field, examples }) => ({
      ...{ name, field },
      examples: context.call.masked ? examples.map((text) => maskedCell(text, field ?? name)) : examples,
    }));
    return { ...upload, ...read, columns, fields: fieldNames(customs) };
  },
});

async function findUpload(
  { sql, property }: Context,
  id: string,
): Promise<{ filename: string | null; size: number }> {
  const [upload] = await sql<{ filename: string | null; size: number }[]>`
    select filename, size::int as size from uploads where property_id = ${property.id} and id = ${id} and complete`;
  if (upload) return upload;
  throw new Fault("not_found", {
    message: "upload_id: no such file, or its upload is not complete. Upload it again.",
  });
}
