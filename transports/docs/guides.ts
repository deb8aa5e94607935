import { readdirSync, readFileSync } from "node:fs";

/** A page about one task, written for operators, for agents and for the next engineer. */
export interface Guide {
  /** Its address: /docs/<name> for people, docs://guides/<name> for agents. */
  name: string;
  title: string;
  /** The sentence under the title. */
  summary: string;
  markdown: string;
}

/** The order of every list of guides. */
const NAMES = [
  "players-and-imports",
  "segments",
  "consent-and-compliance",
  "campaigns",
  "texts",
  "journeys",
  "inbox",
  "games",
  "web-push",
  "voice",
  "providers",
  "tracking",
  "console",
  "compliance",
  "agents",
  "api-conventions",
  "webhooks",
  "privacy-and-ledgers",
  "running-it",
  "beyond-one-machine",
  "proof",
  "operations",
  "changelog",
] as const;

let read: readonly Guide[] | undefined;

/** All guides, read from their files once. */
export function guides(): readonly Guide[] {
  read ??= NAMES.map((name) => parseGuide(name, readFileSync(fileOf(name), "utf8")));
  return read;
}

/** The file of a guide. */
export function fileOf(name: string): URL {
  return new URL(`./guides/${name}.md`, import.meta.url);
}

const PICTURES = new URL("./pictures/", import.meta.url);

/** The pictures in the guides, by the names of their files. */
export function pictures(): string[] {
  return readdirSync(PICTURES).filter((name) => /^[a-z-]+\.(?:svg|png)$/.test(name));
}

/** The bytes of a picture. */
export function pictureBytes(name: string): Buffer<ArrayBuffer> {
  return readFileSync(new URL(name, PICTURES));
}

/**
 * The text of a guide, its links to other guides replaced by `toAddress` of their names, and its pictures by `toPicture`
 * of theirs. Without that a picture is its words alone.
 */
export function relinked(
  markdown: string,
  toAddress: (name: string) => string,
  toPicture?: (name: string) => string,
): string {
  return markdown
    .replace(/!\[([^\]]+)\]\(\.\.\/pictures\/([a-z-]+\.(?:svg|png))\)/g, (_, words: string, name: string) =>
      toPicture ? `![${words}](${toPicture(name)})` : words,
    )
    .replace(
      /\]\(([a-z-]+)\.md(#[\w-]+)?\)/g,
      (_, name: string, anchor = "") => `](${toAddress(name)}${anchor})`,
    );
}

/** Throws if the guide does not begin with a title and one sentence. */
function parseGuide(name: string, markdown: string): Guide {
  const [, title, summary] = /^# (.+)\n\n([^[\n]+\.)\n\n/.exec(markdown) ?? [];
  if (!title || !summary)
    throw new Error(`${name}.md must begin with "# Title" and one sentence without links`);
  return { name, title, summary, markdown };
}
