const SEALED = "•••";

/** An input without the values of its sealed fields. Of an address its host is shown: that says which account it is. */
export function sealedFields(
  input: Record<string, unknown>,
  sealed: readonly string[],
): Record<string, unknown> {
  const fields = Object.entries(input).map(([name, value]) => [
    name,
    sealed.includes(name) ? seal(value) : value,
  ]);
  return Object.fromEntries(fields);
}

function seal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(seal);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, seal(inner)]));
  }
  const address = typeof value === "string" ? URL.parse(value) : null;
  return address?.host ? `${address.protocol}//${address.host}/${SEALED}` : SEALED;
}
