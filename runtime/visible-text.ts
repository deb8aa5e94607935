// Characters that readers do not see and models do: zero-width, bidirectional, tags, variation selectors.
export const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;

/** Text without invisible characters. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, "").replace(CONTROL, "");
}
