import postcss from "postcss";

/** The effect of styles on the words of an element. */
export interface Effect {
  isHiding: boolean;
  /** Whether nobody reads its size. An element within may have another. */
  isTiny?: boolean;
  /** As six hexadecimal digits where it can be read, and as it is written elsewhere. */
  color?: string;
  background?: string;
  /** Whether it shows letters in the other direction. */
  isTurning?: true;
}

/** The style sheets of a message. */
export interface Sheets {
  /** Their effect on an element, by the last id, class or tag of a selector; `*` is any element. */
  effects: ReadonlyMap<string, Effect>;
  /** The effect of each inline style that was read so far. */
  inline: Map<string, Effect>;
  /** Texts that they show beside the HTML's. */
  added: string[];
}

/** Reads style sheets. Those that nobody can read are said to hide everything. */
export function readSheets(css: string): Sheets {
  const effects = new Map<string, Effect>();
  const added: string[] = [];
  const sheets: Sheets = { effects, inline: new Map(), added };
  const root = parsed(css);
  if (!root) return { ...sheets, effects: new Map([["*", { isHiding: true }]]) };
  root.walkRules((rule) => {
    const { isHiding, ...tones } = effectOf(rule);
    const isAlways = rule.parent === root && !DARK.test(rule.selector);
    const effect = isAlways
      ? { isHiding, ...tones }
      : { isHiding: isHiding || tones.isTiny === true, ...turning(tones.isTurning === true) };
    const lasts = rule.selectors.map(lastPart).filter((last) => !STATE.test(last));
    if (lasts.some((last) => BESIDE.test(last))) added.push(...contentOf(rule));
    for (const last of lasts) {
      if (!BESIDE.test(last)) effects.set(keyOf(last), merged(effects.get(keyOf(last)), effect));
    }
  });
  return sheets;
}

/** The effect of the sheets and of its own style on an element, apart from the elements around it. */
export function effectOn(
  name: string,
  attributes: Record<string, string>,
  { effects, inline }: Sheets,
): Effect {
  const classes = (attributes.class ?? "").split(/\s+/).map((one) => `.${one}`);
  const keys = ["*", name, ...classes, `#${attributes.id}`];
  const ofSheets = keys.flatMap((key) => effects.get(key) ?? []).reduce(merged, { isHiding: false });
  const own = attributes.style === undefined ? { isHiding: false } : inlineEffect(attributes.style, inline);
  const { bgcolor, color } = attributes;
  return [
    ofSheets,
    {
      isHiding: "hidden" in attributes,
      ...(bgcolor && { background: tone(bgcolor) }),
      ...(color && { color: tone(color) }),
      ...turning(isTurning(attributes["unicode-bidi"])),
    },
    own,
  ].reduce(merged);
}

const turning = (is: boolean) => (is ? { isTurning: true as const } : {});

/** A value that may be an override, also by a variable. */
const isTurning = (value = "normal") => !UPRIGHT.test(value.trim());
const UPRIGHT = /^(?:normal|embed|isolate|plaintext|inherit|initial|unset|revert)$/i;

function merged(one: Effect | undefined, other: Effect): Effect {
  return { ...one, ...other, isHiding: (one?.isHiding ?? false) || other.isHiding };
}

/** More different ones are no message's: those that follow are said to hide. */
const MOST_INLINE = 2_000;

function inlineEffect(style: string, known: Map<string, Effect>): Effect {
  const effect = known.get(style) ?? (known.size < MOST_INLINE ? readInline(style) : { isHiding: true });
  known.set(style, effect);
  return effect;
}

function readInline(style: string): Effect {
  const root = parsed(`a{${style}}`);
  return root?.nodes.length === 1 && root.first?.type === "rule" ? effectOf(root.first) : { isHiding: true };
}

const LIQUID = /\{[{%][^{}]*[%}]\}/g;

/** Characters. Mail programs read fewer. */
const MOST_CSS = 100_000;

function parsed(css: string): postcss.Root | null {
  if (css.length > MOST_CSS) return null;
  try {
    return postcss.parse(css.replace(LIQUID, "liquid"));
  } catch {
    return null;
  }
}

/** Outlook's mark on a page that it shows in the dark. */
const DARK = /\[data-ogs[cb]\]/i;
const STATE = /:(?:hover|active|focus|visited)/i;
const BESIDE = /::?(?:before|after)/i;

/** A selector's last part, without its attributes and arguments. */
function lastPart(selector: string): string {
  const plain = selector.replace(/\[[^\]]*\]|\([^()]*\)/g, "").trim();
  return plain.slice(Math.max(...[" ", ">", "+", "~", "\n", "\t"].map((one) => plain.lastIndexOf(one))) + 1);
}

function keyOf(part: string): string {
  // An escaped name is not read.
  if (part.includes("\\")) return "*";
  const names = part.replace(/:.*$/s, "").match(/[.#]?[\w-]+/g) ?? [];
  return names.at(-1) ?? "*";
}

function contentOf(rule: postcss.Rule): string[] {
  const content = new Map(declarationsOf(rule)).get("content") ?? "";
  const words = [...content.matchAll(/"([^"]+)"|'([^']+)'|(attr\([^()]*\))/g)];
  return words.map(([, double, single, attribute]) => double ?? single ?? attribute!);
}

/** Names, in lower case, and values, with escapes read. */
function declarationsOf(rule: postcss.Rule): [name: string, value: string][] {
  const all: [string, string][] = [];
  rule.each((node) => {
    if (node.type === "decl") all.push([unescaped(node.prop).toLowerCase(), unescaped(node.value)]);
  });
  return all;
}

function unescaped(text: string): string {
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gis, (_, hex, plain) => {
    if (plain !== undefined) return plain;
    const code = Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}

// Of patterns: a number that hides the text, a size too small to read, and a transparent color.
const NOTHING = String.raw`(?:0+(?:\.0\d*)?|\.0\d*)`;
const SMALL = String.raw`(?:[012]?(?:\.\d+)?(?:px|pt)|${NOTHING}(?:r?em|%)?)`;
const ALPHA = String.raw`(?:rgb|hsl)a?\((?:(?:[^(),]*,){3}|[^()/]*/)\s*${NOTHING}%?\s*\)`;

/** Values that leave nothing of an element's words to see, by property. */
const HIDING: Readonly<Record<string, RegExp>> = {
  display: /^none\b/,
  visibility: /^(?:hidden|collapse)\b/,
  opacity: new RegExp(`^(?:${NOTHING}|[0-4]%)(?![\\d.%])`),
  color: new RegExp(`^(?:transparent|#(?:[0-9a-f]{3}0|[0-9a-f]{6}0[0-9a-f])$|${ALPHA})`),
  "text-indent": /^-\d{3,}/,
  "letter-spacing": /^-(?:[3-9]|\d\d|(?:1|0?\.[5-9])[\d.]*r?em)/,
  left: /^-\d{3,}/,
  right: /^-\d{3,}/,
  top: /^-\d{3,}/,
  "margin-left": /^-\d{3,}/,
  "margin-top": /^-\d{3,}/,
  transform: /scale(?:[xyz]|3d)?\(\s*0|translate(?:[xyz]|3d)?\([^()]*-\d{3,}/,
  clip: /^rect/,
  "clip-path": /^(?!none)/,
  "-webkit-text-fill-color": /^transparent/,
  "mso-hide": /^all/,
};
const NO_SIZE = /^0*(?:\.\d+)?(?:px|pt|em|%)?(?![\w.%])|^0/;
const SIZES = ["height", "width", "max-height", "max-width"];

function effectOf(rule: postcss.Rule): Effect {
  // The last of a name may not count: another is important, or its own value is none.
  const each = declarationsOf(rule).map(([name, value]) => [name, value.trim().toLowerCase()] as const);
  const all = new Map(each);
  const isCut =
    /hidden|clip/.test(all.get("overflow") ?? "") &&
    SIZES.some((name) => NO_SIZE.test(all.get(name) ?? "auto"));
  const isHiding = isCut || each.some(([name, value]) => HIDING[name]?.test(value));
  const size = all.get("font-size") ?? all.get("font");
  const color = all.get("color");
  const background = all.get("background-color") ?? all.get("background");
  return {
    isHiding,
    ...turning(each.some(([name, value]) => name === "unicode-bidi" && isTurning(value))),
    ...(size !== undefined && !RELATIVE.test(size) && { isTiny: TINY.test(size) }),
    ...(color !== undefined && !AROUND.test(color) && { color: tone(color) }),
    ...(background !== undefined && !AROUND.test(background) && { background: tone(background) }),
  };
}

/** A size, also within a value of `font`. */
const TINY = new RegExp(`(?:^|\\s)${SMALL}(?:$|[\\s/])`);
const RELATIVE = /(?:^|\s)(?:0*[1-9][\d.]*|0*\.0*[1-9]\d*)(?:em|%)|^(?:inherit|unset|larger|smaller)/;

/** Values that leave the color of the element around. */
const AROUND = /^(?:inherit|unset|revert|currentcolor|transparent|none)\b/;

const NAMED: Readonly<Record<string, string>> = { white: "ffffff", black: "000000" };

/** A color in one spelling, of the first word of a value. */
function tone(value: string): string {
  const text = value.trim().toLowerCase();
  const [, red, green, blue] = /^rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)/.exec(text) ?? [];
  if (red !== undefined) {
    return [red, green, blue].map((one) => Number(one).toString(16).padStart(2, "0")).join("");
  }
  const [, word = text] = /^#?([\w-]+(?:\([^()]*\))?)/.exec(text) ?? [];
  if (/^[0-9a-f]{3}$/.test(word)) return [...word].map((one) => one + one).join("");
  return NAMED[word] ?? word;
}
