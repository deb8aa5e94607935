// The view's side of MCP Apps, revision 2026-01-26. The extension's own App class would bring half a megabyte.
const INITIALIZE = 1;
const view = document.getElementById("view");
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

function takeTheme(context) {
  if (context?.theme) document.documentElement.style.colorScheme = context.theme;
}

function show({ structuredContent, content, isError }) {
  const said = (content ?? []).map((part) => `<p>${text(part.text)}</p>`).join("");
  const isPlain = isError || !structuredContent;
  view.innerHTML = isPlain ? said : render(structuredContent);
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  const { id, method, params, result } = data;
  if (id === INITIALIZE && result) {
    takeTheme(result.hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
  } else if (method === "ui/notifications/tool-result") show(params);
  else if (method === "ui/notifications/host-context-changed") takeTheme(params);
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
