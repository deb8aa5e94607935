const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPENING_BRACKET = 91;
const CLOSING_BRACKET = 93;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

/**
 * A row as a JSON object, from its values as `json_build_array` writes them: the text of each stays PostgreSQL's own,
 * so no number loses digits. `row_to_json` of a table's columns would be a query inside the statement, for which a
 * cluster has no short way.
 */
export function objectText(names: readonly string[], values: string): string {
  const end = values.length - 1;
  let text = "";
  let column = 0;
  let from = 1;
  let depth = 0;
  const item = (to: number) => `${column === 0 ? "{" : ","}"${names[column++]}":${values.slice(from, to)}`;
  for (let at = 1; at < end; at++) {
    const code = values.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(values, at);
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) depth++;
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth--;
    else if (code === COMMA && depth === 0) {
      text += item(at);
      // A space follows.
      from = at + 2;
    }
  }
  return `${text}${item(end)}}`;
}

function closingQuote(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1);
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}
