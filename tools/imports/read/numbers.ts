/**
 * The decimal sign of a file. `,` and `.` are given by the caller. `seems .` and `seems ,` follow from its own cells;
 * `maybe .` from commas or tabs between its cells, and `unknown` from semicolons: neither shows it, but an amount of
 * money with a comma and three digits between commas is in thousands.
 */
export type DecimalSign = "." | "," | "seems ." | "seems ," | "maybe ." | "unknown";

/** A number that has two readings under the file's decimal sign. */
export const AMBIGUOUS = Symbol("ambiguous");

const CURRENCY = /^(-?)[$€£] ?|(?<=\d) ?[$€£]$/g;
/** Spaces (also of no break) and apostrophes between groups of three digits. */
const GROUP_MARK = /(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))/g;
const PLAIN = /^-?\d+(e[+-]?\d{1,3})?$/i;
const SIGNED = /^(-?)(\d+(?:[.,]\d+)+)(e[+-]?\d{1,3})?$/i;
const COMMA_GROUPS = /^\d{1,3}(,\d{3})+$/;
const DOT_GROUPS = /^\d{1,3}(\.\d{3})+$/;
const COMMA_GROUPS_DOT = /^\d{1,3}(,\d{3})+\.\d+$/;
const DOT_GROUPS_COMMA = /^\d{1,3}(\.\d{3})+,\d+$/;
/** One mark with three digits behind it: a decimal sign, or thousands. */
const TWO_READINGS = /^[1-9]\d{0,2}([.,])\d{3}$/;
const MOST_CELLS = 5_000;

/** A cell as a number in JavaScript's form; null for no number. */
export function readNumber(cell: string, sign: DecimalSign): string | null | typeof AMBIGUOUS {
  const text = cell.replace(CURRENCY, "$1").replace(GROUP_MARK, "");
  if (PLAIN.test(text)) return finite(text);
  const [, minus = "", digits = "", exponent = ""] = SIGNED.exec(text) ?? [];
  if (digits === "") return null;
  const [, mark] = TWO_READINGS.exec(digits) ?? [];
  const decimal = mark ? decimalOf(mark, sign, /[$€£]/.test(cell)) : signIn(digits);
  if (decimal === null || decimal === AMBIGUOUS) return decimal;
  if (!mark && decimal !== "none" && (sign === "." || sign === ",") && sign !== decimal) return null;
  const plain = decimal === "," ? digits.replaceAll(".", "").replace(",", ".") : digits.replaceAll(",", "");
  return finite(`${minus}${decimal === "none" ? plain.replaceAll(".", "") : plain}${exponent}`);
}

/** The decimal sign of a number with one reading; `none` for thousands alone, null for no number. */
function signIn(digits: string): "." | "," | "none" | null {
  if (COMMA_GROUPS_DOT.test(digits) || /^\d+\.\d+$/.test(digits)) return ".";
  if (DOT_GROUPS_COMMA.test(digits) || /^\d+,\d+$/.test(digits)) return ",";
  return COMMA_GROUPS.test(digits) || DOT_GROUPS.test(digits) ? "none" : null;
}

/** Decides between the two readings, by what the caller or other cells of the file say. */
function decimalOf(
  mark: string,
  sign: DecimalSign,
  hasCurrency: boolean,
): "." | "," | "none" | typeof AMBIGUOUS {
  if (sign === "." || sign === ",") return sign === mark ? sign : "none";
  if (sign === "seems .") return mark === "." ? "." : "none";
  return sign === "maybe ." && mark === "," && hasCurrency ? "none" : AMBIGUOUS;
}

function finite(text: string): string | null {
  const parsed = Number(text);
  return Number.isFinite(parsed) ? String(parsed) : null;
}

/** The decimal sign that numbers of a file show. */
export function decimalSignOf(cells: readonly string[], delimiter: string): DecimalSign {
  const shown = new Set(cells.slice(0, MOST_CELLS).map(decimalShown));
  // A file that shows both is a mixture of sources.
  if (shown.has(",")) return shown.has(".") ? "unknown" : "seems ,";
  if (shown.has(".")) return "seems .";
  return delimiter === ";" ? "unknown" : "maybe .";
}

function decimalShown(cell: string): "." | "," | "none" | null {
  const digits = SIGNED.exec(cell.replace(CURRENCY, "$1"))?.[2];
  return digits === undefined || TWO_READINGS.test(digits) ? null : signIn(digits);
}
