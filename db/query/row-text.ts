import { closingQuote } from "#db/text.ts";

const QUOTE = 34;
const OPENING_BRACKET = 91;
const CLOSING_BRACKET = 93;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

/**
 * Makes a row's JSON object of its values as `json_build_array` writes them: the text of each stays PostgreSQL's own,
 * so no number loses digits. `row_to_json` of a table's columns would be a query inside the statement, for which a
 * cluster has no short way.
 */
export function objectWriter(names: readonly string[]): (values: string) => string {
  const heads = names.map((name, index) => `${index === 0 ? "{" : ","}"${name}":`);
  return (values) => {
    let text = "";
    let from = 1;
    for (const head of heads) {
      const end = endOf(values, from);
      text += head + values.slice(from, end);
      // A comma and a space follow.
      from = end + 2;
    }
    return `${text}}`;
  };
}

/** The end of the value that begins at `start`. */
function endOf(text: string, start: number): number {
  const code = text.charCodeAt(start);
  if (code === QUOTE) return closingQuote(text, start) + 1;
  if (code === OPENING_BRACKET || code === OPENING_BRACE) return endOfNested(text, start);
  const comma = text.indexOf(",", start);
  return comma === -1 ? text.length - 1 : comma;
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) depth++;
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth--;
    at++;
  } while (depth > 0);
  return at;
}
