// The view's side of MCP Apps, revision 2026-01-26. The extension's own App class would bring half a megabyte.
// The page sets `render`, the view's own, and WORDS before this.
import { html } from "./html.js";
import { speechOf } from "./speech.js";
import { unpacked } from "./words.js";

const INITIALIZE = 1;
const view = document.getElementById("view");
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

const speech = speechOf(unpacked(WORDS));
let timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** An agent's window has no ways to pages of the console. */
const reader = {
  ...speech,
  time: (iso) => html`<time datetime="${iso}">${speech.clock(new Date(iso), timeZone)}</time>`,
  pathOf: () => null,
};

function takeContext(context) {
  if (context?.theme) document.documentElement.style.colorScheme = context.theme;
  if (context?.timeZone) timeZone = context.timeZone;
}

function show({ structuredContent, content, isError }) {
  const said = (content ?? []).map((part) => html`<p>${part.text}</p>`);
  const isPlain = isError || !structuredContent;
  view.innerHTML = String(isPlain ? html`${said}` : render(structuredContent, reader));
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  const { id, method, params, result } = data;
  if (id === INITIALIZE && result) {
    takeContext(result.hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
  } else if (method === "ui/notifications/tool-result") show(params);
  else if (method === "ui/notifications/host-context-changed") takeContext(params);
  // A ping, and the end of the view.
  else if (id !== undefined && method) send({ id, result: {} });
});

const appInfo = { name: "player-marketing", version: "1" };
const initialize = { appInfo, appCapabilities: {}, protocolVersion: "2026-01-26" };
send({ id: INITIALIZE, method: "ui/initialize", params: initialize });
new ResizeObserver(() => {
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  send({ method: "ui/notifications/size-changed", params: { width, height } });
}).observe(view);
