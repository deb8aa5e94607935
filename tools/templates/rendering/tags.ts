/** An attribute's value, quoted or bare, as three alternative groups. */
export const VALUE = String.raw`\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))`;
/** A comment, which Outlook reads if it begins with [if; a style sheet; or a tag. */
const PART =
  /<!--(?:-?>|(?!\[if)(?:.*?-->|.*))|<style(?![\w-])(?:.*?<\/style|.*)|<([a-z][\w:-]*)(?:"[^"]*"|'[^']*'|[^'"<>])*>/gis;
const ATTRIBUTE = new RegExp(String.raw`([^\s"'<>/=]+)(?:${VALUE})?`, "g");

/** A tag that a mail reader takes for one. */
interface Tag {
  name: string;
  /** Values as written. A name that stands twice is here twice. */
  attributes: { name: string; value: string }[];
}

/** The tags of HTML, and the texts of its style sheets. */
export function tagsIn(html: string): { tags: Tag[]; sheets: string[] } {
  const tags: Tag[] = [];
  const sheets: string[] = [];
  for (const [part, name] of html.matchAll(PART)) {
    if (/^<style/i.test(part)) sheets.push(part);
    else if (name !== undefined) tags.push({ name, attributes: attributesOf(part.slice(1 + name.length)) });
  }
  return { tags, sheets };
}

function attributesOf(text: string): Tag["attributes"] {
  return [...text.matchAll(ATTRIBUTE)].map(([, name = "", ...values]) => ({ name, value: given(values) }));
}

/** The value of an attribute, of its alternative groups. */
export function given(values: readonly (string | undefined)[]): string {
  return values.find((value) => value !== undefined) ?? "";
}
