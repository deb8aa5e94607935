import { domainToASCII } from "node:url";

// Characters that readers do not see and models do: zero-width, bidirectional, tags, variation selectors.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;
/** Begins text whose letters and digits a screen shows in the other direction: readers see 51 where a model reads 15. */
export const TURNING = "\u202E";
const TURNED = /[\u202D\u202E]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;

/** The host of a web address or a mail address. A mark behind it says that it has been shown already. */
const HOST = /(?<=:\/\/|@|\bwww\.)[\p{L}\p{N}\p{M}.-]{1,253}(?![\p{L}\p{N}\p{M}.-]| \[[a-z0-9.-]*xn--)/gu;
const OTHER_LETTERS = /\P{ASCII}/u;

const LINE_BREAKS = /[\n\r\u2028\u2029]+/g;

/**
 * Text on one line, with marks where it turns letters around, and behind hosts with other letters: these would change
 * how readers take it or our words behind it.
 */
export function oneLine(text: string): string {
  return withTrueHosts(marked(text)).replace(LINE_BREAKS, " ");
}

/** A text of callers or players in quotes, as JSON on one line. A longer one is cut, and says so. */
export function quoted(text: string, most = 100): string {
  const cut = text.slice(0, most).toWellFormed();
  const left = text.length - cut.length;
  const more = left > 0 ? ` and ${left.toLocaleString("en-US")} more characters` : "";
  return `${oneLine(JSON.stringify(cut))}${more}`;
}

/** A value among others in a sentence: a single word is bare, any other text in quotes. */
export function bareOrQuoted(value: string): string {
  return /^[\p{L}\p{N}_.+-]{1,60}$/u.test(value) ? value : quoted(value, 60);
}

/** Text without invisible characters. Words name those that turn letters around, and the true names of hosts. */
export function visible(text: string): string {
  return withTrueHosts(bare(marked(text)));
}

/** The same for JSON text, which may have control characters between its values. */
export function visibleJson(json: string): string {
  return marked(json).replace(INVISIBLE, "");
}

/** Text without invisible characters, for looking for something in it. Words in their place would part an address. */
export function bare(text: string): string {
  return text.replace(INVISIBLE, "").replace(CONTROL, "");
}

/** A Cyrillic letter looks like a Latin one: behind a host with such letters stands the name that the network asks for. */
function withTrueHosts(text: string): string {
  if (!OTHER_LETTERS.test(text)) return text;
  return text.replace(HOST, (host) => {
    const name = OTHER_LETTERS.test(host) ? domainToASCII(host) : "";
    return name === "" || name === host ? host : `${host} [${name}]`;
  });
}

function marked(text: string): string {
  return text.replace(TURNED, "[turned around:] ");
}
