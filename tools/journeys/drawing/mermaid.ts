import { edgeWords, type Picture, type PictureNode } from "./picture.ts";

const SHAPES: Partial<Record<PictureNode["type"], [string, string]>> = {
  trigger: ["([", "])"],
  branch: ["{", "}"],
  random_split: ["{", "}"],
  goal: ["([", "])"],
  exit: ["([", "])"],
};

/** The picture as a Mermaid flowchart. */
export function mermaidOf({ title, nodes, edges }: Picture): string {
  const keys = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const drawn = nodes.map((node) => {
    const [open, close] = SHAPES[node.type] ?? ["[", "]"];
    const here = node.here ? `<br/>${node.here} here` : "";
    return `  ${keys.get(node.id)}${open}"${text(node.title)}<br/>${text(node.detail)}${here}"${close}`;
  });
  const arrows = edges.map((edge) => {
    const words = edgeWords(edge);
    const label = words === "" ? "" : `|"${text(words)}"|`;
    return `  ${keys.get(edge.from)} -->${label} ${keys.get(edge.to)}`;
  });
  return [`---`, `title: ${JSON.stringify(title)}`, `---`, "flowchart TD", ...drawn, ...arrows].join("\n");
}

/** Mermaid reads entities, and would read quotes and brackets as its own. */
function text(value: string): string {
  return value.replace(/[^\p{L}\p{N} .,:;%_/+·…'’-]/gu, (letter) => `#${letter.codePointAt(0)};`);
}
