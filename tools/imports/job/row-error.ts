import { z } from "zod";

/** The reasons for refusing a row. `self_excluded` alone is a notice: the row was imported, with that status. */
const ROW_ERRORS = [
  "invalid_email",
  "invalid_phone",
  "duplicate_in_file",
  "missing_identifier",
  "unknown_field",
  "type_mismatch",
  "erased",
  "self_excluded",
  "conflict",
] as const;

export const RowErrorView = z.object({
  row: z
    .int()
    .describe(
      "Rows are counted from the first record after the header, which is 1: in a file without line breaks in its cells it stands on line 2. 0 is the file itself",
    ),
  column: z.string().nullable(),
  code: z.enum(ROW_ERRORS),
  message: z.string(),
  value: z.string().nullable(),
  original_row: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe("The cells by their column's name, in the order of the file; what the row lacks is empty"),
});
export type RowErrorView = z.output<typeof RowErrorView>;
