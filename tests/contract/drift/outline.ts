const WIDEST = 200;

/** JSON with a line for what fits into one or is a list of words, and lines for its fields where it does not. */
export function outline(value: unknown, name = "", indent = ""): string {
  const text = brief(JSON.stringify(value));
  const label = name && `${name}: `;
  const isPlain = typeof value !== "object" || value === null;
  const isWords = Array.isArray(value) && value.every((one) => typeof one === "string");
  if (isPlain || isWords || indent.length + text.length <= WIDEST) return `${indent}${label}${text}\n`;
  const inner = name ? `${indent}  ` : indent;
  const fields = Object.entries(value).map(([field, one]) =>
    outline(one, Array.isArray(value) ? "-" : field, inner),
  );
  return [name && `${indent}${name}:\n`, ...fields].join("");
}

/** References by their names alone, and formats without the pattern that follows from them. */
function brief(json: string): string {
  return json
    .replaceAll(/("format":"(?:uuid|date|date-time|email)"),"pattern":"(?:[^"\\]|\\.)*"/g, "$1")
    .replaceAll(/\{"\$ref":"#\/components\/\w+\/([\w-]+)"\}/g, "→$1")
    .replaceAll(/"([\w-]+)":→E?\1(?=[,}])/g, "→$1");
}
