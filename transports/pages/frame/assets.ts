import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Http } from "#transports/http/handlers.ts";
import type { Word } from "#transports/pages/words/en.ts";
import { WORDS } from "#transports/pages/words/words.ts";

const TYPES = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
} as const;

const FOR_A_DAY = "public, max-age=86400";
const FOR_EVER = "public, max-age=31536000, immutable";

interface Asset {
  path: string;
  body: Buffer<ArrayBuffer>;
  packed: Buffer<ArrayBuffer>;
  contentType: string;
}

/** `<player-inbox>`. It is one file, so its texts are put in front of it. */
const ELEMENT = "player-inbox.js";

/** The service worker of web push. A worker works below its own address alone, and keeps it for good. */
const WORKER = "push-worker.js";
export const WORKER_PATH = "/push/worker.js";

const ELEMENT_WORDS: readonly Word[] = [
  ...(["inbox", "inbox_empty", "back", "pin", "unpin", "archive", "pinned", "unread", "code"] as const),
  ...(["folders", "archived", "archive_empty", "restore"] as const),
  ...(["expires", "expired", "open_offer", "more", "newer"] as const),
];

/** Our own style sheets and modules, by the names of their files. */
const FILES = [
  ...([
    "page.css",
    "place.css",
    "guide.css",
    "inbox.css",
    "message.css",
    "games.css",
    "play.css",
    "console.css",
    "approvals.css",
    "tables.css",
    "forms.css",
    "charts.css",
    "buttons.css",
    "reference.css",
  ] as const),
  ...([
    "inbox.js",
    ELEMENT,
    "game.js",
    "proof.js",
    "push.js",
    "console.js",
    "reference.js",
    WORKER,
    "icon.svg",
  ] as const),
] as const;
export type AssetName = (typeof FILES)[number];
const ASSETS: ReadonlyMap<AssetName, Asset> = new Map(FILES.map((name) => [name, load(name)]));

/** The address of one of our files. It changes with the file, so a browser keeps it for ever. */
export function assetPath(name: AssetName): string {
  return ASSETS.get(name)!.path;
}

/** Every page is behind a sign-in or a person's own link, so there is nothing for a search engine. */
const ROBOTS = "User-agent: *\nDisallow: /\n";

/** Mounts our style sheets and modules. `<player-inbox>` has a lasting address too, for pages of the casino. */
export function mountAssets(app: Http): void {
  for (const asset of ASSETS.values()) {
    app.get(asset.path, (c) => send(asset, FOR_EVER, c.req.header("accept-encoding")));
  }
  // Browsers ask for it on pages that name no icon, such as JSON and the API reference.
  app.get("/favicon.ico", (c) => send(ASSETS.get("icon.svg")!, FOR_A_DAY, c.req.header("accept-encoding")));
  app.get("/robots.txt", (c) => c.text(ROBOTS, 200, { "cache-control": FOR_A_DAY }));
  const element = ASSETS.get(ELEMENT)!;
  app.get(`/${ELEMENT}`, (c) => send(element, "public, max-age=3600", c.req.header("accept-encoding")));
  app.get(WORKER_PATH, (c) => send(ASSETS.get(WORKER)!, "no-cache", c.req.header("accept-encoding")));
}

function load(name: AssetName): Asset {
  const file = readFileSync(new URL(`../assets/${name}`, import.meta.url));
  const body = name === ELEMENT ? Buffer.concat([Buffer.from(elementWords()), file]) : file;
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 12);
  const [stem, ending] = name.split(".") as [string, keyof typeof TYPES];
  return {
    path: `/assets/${stem}-${hash}.${ending}`,
    body,
    packed: gzipSync(body),
    contentType: TYPES[ending],
  };
}

function elementWords(): string {
  const texts = Object.entries(WORDS).map(([language, words]) => [
    language,
    Object.fromEntries(ELEMENT_WORDS.map((word) => [word, words[word]])),
  ]);
  return `const WORDS = ${JSON.stringify(Object.fromEntries(texts))};\n`;
}

function send({ body, packed, contentType }: Asset, cacheControl: string, accepts = ""): Response {
  const isPacked = /\bgzip\b/.test(accepts);
  return new Response(isPacked ? packed : body, {
    headers: {
      "content-type": contentType,
      "cache-control": cacheControl,
      vary: "Accept-Encoding",
      "x-content-type-options": "nosniff",
      // A module is loaded with CORS, and holds nothing secret.
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
      ...(isPacked && { "content-encoding": "gzip" }),
    },
  });
}
