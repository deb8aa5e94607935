export function headersOf(raw: string): Record<string, string | undefined> {
  const head = raw.slice(0, raw.indexOf("\r\n\r\n")).replace(/\r\n[ \t]+/g, " ");
  return Object.fromEntries(
    head
      .split("\r\n")
      .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.split(/: ?(.*)/)[1]]),
  );
}

/** RFC 2047 words, decoded. */
export function words(value = ""): string {
  return value
    .replace(/\?= =\?/g, "?==?")
    .replace(/=\?utf-8\?([bq])\?(.*?)\?=/gi, (_all, kind: string, body: string) =>
      kind.toLowerCase() === "b"
        ? Buffer.from(body, "base64").toString("latin1")
        : quotedPrintable(body.replaceAll("_", " ")),
    )
    .replace(/[\x80-\xff]+/g, (bytes) => Buffer.from(bytes, "latin1").toString());
}

function quotedPrintable(body: string): string {
  return body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The bodies of a multipart message, decoded. */
export function parts(raw: string): string[] {
  const boundary = /boundary="(.*?)"/.exec(raw)?.[1] ?? "";
  const sections = raw.split(`--${boundary}`).slice(1, -1);
  return sections.map((section) => {
    const start = section.indexOf("\r\n\r\n");
    const body = section.slice(start + 4);
    const base64 = /encoding: base64/i.test(section.slice(0, start));
    return Buffer.from(
      base64 ? Buffer.from(body, "base64") : Buffer.from(quotedPrintable(body), "latin1"),
    ).toString();
  });
}
