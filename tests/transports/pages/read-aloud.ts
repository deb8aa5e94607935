import type { Page } from "playwright-core";

interface Value {
  value?: unknown;
}

interface AxNode {
  nodeId: string;
  ignored: boolean;
  role?: Value;
  name?: Value;
  description?: Value;
  value?: Value;
  properties?: { name: string; value: Value }[];
  childIds?: string[];
}

/** Roles that a screen reader does not say. */
const SILENT = [
  ...["generic", "none", "RootWebArea", "InlineTextBox", "paragraph", "LineBreak", "DescriptionList", "time"],
  ...["ListMarker", "code", "definition", "LabelText", "Legend", "caption", "form"],
];
/** Roles whose name is their content: the texts within are not said twice. */
const NAMED = [
  "link",
  "button",
  "heading",
  "image",
  "DisclosureTriangle",
  "term",
  "rowheader",
  "cell",
  "table",
  "group",
];
const STATES = [
  "level",
  "checked",
  "disabled",
  "expanded",
  "required",
  "invalid",
  "live",
  "focused",
  "modal",
];

/**
 * The page as a screen reader goes through it: one line for each thing, with its role, name and state.
 * Texts are read as they are written: browsers differ on whether `text-transform` changes the spoken name.
 */
export async function readAloud(page: Page): Promise<string[]> {
  await page.evaluate(`{
    const asWritten = new CSSStyleSheet();
    asWritten.replaceSync("* { text-transform: none !important }");
    document.adoptedStyleSheets = [asWritten];
  }`);
  const session = await page.context().newCDPSession(page);
  const { nodes } = (await session.send("Accessibility.getFullAXTree")) as unknown as { nodes: AxNode[] };
  await session.detach();
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const lines: string[] = [];
  const read = (
    { ignored, role, name, description, value, properties = [], childIds = [] }: AxNode,
    named = "",
  ) => {
    const [kind, text] = [String(role?.value ?? ""), plain(name)];
    const isSaid = !ignored && !SILENT.includes(kind) && !(kind === "StaticText" && named.includes(text));
    if (isSaid) {
      const states = properties.flatMap(({ name: state, value: set }) => stateOf(state, set.value));
      const parts = [
        kind === "StaticText" ? text : text === "" ? kind : `${kind}: ${text}`,
        ...(plain(value) === "" ? [] : [`= ${plain(value)}`]),
        ...(plain(description) === "" ? [] : [`(${plain(description)})`]),
        ...(states.length === 0 ? [] : [`[${states.join(", ")}]`]),
      ];
      if (parts.join("") !== "") lines.push(parts.join(" "));
    }
    const within = NAMED.includes(kind) && text !== "" ? text : named;
    for (const id of childIds) {
      const child = byId.get(id);
      if (child) read(child, within);
    }
  };
  const [root] = nodes;
  if (root) read(root);
  return lines;
}

const plain = (value: Value | undefined) =>
  String(value?.value ?? "")
    .replace(/\s+/g, " ")
    .trim();

function stateOf(name: string, value: unknown): string[] {
  if (name === "expanded" && value === false) return ["collapsed"];
  if (!STATES.includes(name) || value === false || value === "false" || value === "off") return [];
  return [value === true || value === "true" ? name : `${name} ${value}`];
}

/** The values that change from run to run. */
export const steady = (line: string) =>
  line
    .replace(/Game [0-9a-f-]{36}/g, "Autumn")
    .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>")
    .replace(/\b[A-Z][a-z]{2} \d{1,2}, 20\d\d/g, "<day>")
    .replace(/\b[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9-]+\b/g, "<code>");

/** The lines within the page's main part, and those around it, which are the same on all pages of a casino. */
export function partsOf(lines: readonly string[]) {
  const [from, to] = [lines.indexOf("main"), lines.indexOf("contentinfo")];
  const end = to < 0 ? lines.length : to;
  return { main: lines.slice(from + 1, end), frame: [...lines.slice(0, from), ...lines.slice(end)] };
}
