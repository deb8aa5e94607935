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

/** Settings that are no secrets. Their values help to understand a vendor's words. */
const PLAIN = new Set([
  "host",
  "port",
  "secure",
  "user",
  "from",
  "region",
  "carrier",
  "configuration_set",
  "topic_arn",
  "model_provider",
  "model",
  "voice",
  "subject",
  "seed",
]);
/** Shorter ones stand among usual words, and a `SHORT` one inside them: it is taken out as a word alone. */
const SHORTEST = 4;
const SHORT = 8;
const BASE64 = /[\w+/-]{6,}={0,2}/g;

/**
 * Takes a provider's secrets out of texts that others have written. Some servers repeat the command or the header that
 * they refuse, also in base64.
 */
export function withoutEchoes(settings: unknown): (text: string) => string {
  const secrets = secretsIn(settings).filter(({ length }) => length >= SHORTEST);
  if (secrets.length === 0) return (text) => text;
  const spellings = secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    .toSorted((one, other) => other.length - one.length)
    .map((one) => {
      const literal = one.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
      return one.length < SHORT ? `(?<!\\w)${literal}(?!\\w)` : literal;
    });
  const written = new RegExp(spellings.join("|"), "g");
  const isSecret = (run: string) => {
    const decoded = Buffer.from(run, "base64").toString();
    return secrets.some((secret) => decoded.includes(secret));
  };
  return (text) =>
    text.replaceAll(written, SEALED).replaceAll(BASE64, (run) => (isSecret(run) ? SEALED : run));
}

function secretsIn(settings: unknown): string[] {
  if (typeof settings === "string") return [settings];
  if (typeof settings !== "object" || settings === null) return [];
  return Object.entries(settings).flatMap(([name, value]) => (PLAIN.has(name) ? [] : secretsIn(value)));
}
