import { z } from "zod";

/**
 * Why a row was refused. `self_excluded` and `refusal_stands` are notices: the row came in, with that status, or
 * without the consent.
 */
const ROW_ERRORS = [
  "invalid_email",
  "invalid_phone",
  "duplicate_in_file",
  "missing_identifier",
  "unknown_field",
  "type_mismatch",
  "erased",
  "self_excluded",
  "refusal_stands",
  "conflict",
] as const;

export const RowErrorView = z.object({
  row: z
    .int()
    .describe(
      "The first record after the header is row 1, normally line 2 of the file. 0 is the file itself",
    ),
  column: z.string().nullable(),
  code: z.enum(ROW_ERRORS),
  message: z.string(),
  value: z.string().nullable(),
  original_row: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe("The cells by column name, in the order of the file; missing cells are empty"),
});
export type RowErrorView = z.output<typeof RowErrorView>;

/** The errors of one column for one reason. */
export const ErrorGroupView = z.object({
  column: z.string().nullable(),
  code: z.enum(ROW_ERRORS),
  count: z.int(),
  message: z.string().describe("Of the first row"),
  first_rows: z.array(z.int()),
  examples: z.array(z.string()).describe("Different values"),
});
export type ErrorGroupView = z.output<typeof ErrorGroupView>;
