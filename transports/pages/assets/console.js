// The console works without this. It keeps figures true, fills parts that take a while, and counts while rules change.

/** The shortest time between two readings of a page. */
const SHORTEST_MS = 1_500;
const SPREAD_MS = 1_500;

/** Parsed by the browser itself: no text of ours becomes a script. */
function load(url, form) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open(form ? "POST" : "GET", url);
    request.responseType = "document";
    request.onloadend = () => resolve(request.response);
    request.send(form && new URLSearchParams(new FormData(form)));
  });
}

function take(into, page, id = into.id) {
  const fresh = page?.getElementById(id);
  if (!fresh) return false;
  into.replaceChildren(...document.adoptNode(fresh).childNodes);
  return true;
}

// Figures that change.
const live = document.querySelector("[data-live]");
let isDue = false;
let isBusy = false;

/** The parts of a page that change: its figures, and its states and buttons. */
const CHANGING = ["live", "states", "acts"];

/** A person who reads or presses something in a part keeps it. */
function isUsed(part) {
  return part.contains(document.activeElement) || part.querySelector("details[open]") !== null;
}

async function renew() {
  const parts = CHANGING.map((id) => document.getElementById(id)).filter((part) => part && !isUsed(part));
  if (!isDue || isBusy || document.hidden || parts.length === 0) return;
  isDue = isUsed(live);
  isBusy = true;
  const page = await load(location.href);
  for (const part of parts) {
    const fresh = page?.getElementById(part.id);
    if (!fresh || fresh.textContent === part.textContent || isUsed(part)) continue;
    take(part, page);
    void fill(part);
    void renewParts();
  }
  setTimeout(() => {
    isBusy = false;
    void renew();
  }, SHORTEST_MS);
}

/** A browser has few connections to a server, so a hidden page closes its own. */
function listen() {
  const source = new EventSource(live.dataset.live);
  source.addEventListener("changed", () => {
    isDue = true;
    // All who look at one campaign are told at once; they do not all ask at once.
    setTimeout(() => void renew(), Math.random() * SPREAD_MS);
  });
  source.onopen = () => document.body.classList.add("is-live");
  source.onerror = () => document.body.classList.remove("is-live");
  return source;
}

if (live) {
  let source = document.hidden ? null : listen();
  document.addEventListener("visibilitychange", () => {
    source?.close();
    source = document.hidden ? null : listen();
  });
  document.addEventListener("focusout", () => setTimeout(() => void renew()));
  document.addEventListener("toggle", () => void renew(), true);
  addEventListener("pagehide", () => source?.close());
}

/** Parts beside the figures, which cost more to read, follow them at a distance. Each says when it was counted. */
const PARTS_APART_MS = 15_000;
let isPartsDue = false;
let partsReadAt = -PARTS_APART_MS;

/** The first change is read soon, and those after it no sooner than the distance. */
function renewParts() {
  if (isPartsDue) return;
  isPartsDue = true;
  const wait = Math.max(0, partsReadAt + PARTS_APART_MS - performance.now());
  setTimeout(renewNow, wait + Math.random() * SPREAD_MS);
}

/** A part that somebody reads, or that could not be read, waits for the next turn. */
async function renewNow() {
  isPartsDue = false;
  partsReadAt = performance.now();
  for (const part of document.querySelectorAll("[data-renews]")) {
    const page = document.hidden || isUsed(part) ? null : await load(part.dataset.part);
    if (isUsed(part) || !take(part, page)) renewParts();
  }
}

// Parts that take longer than a page may.
async function fill(among) {
  for (const part of among.querySelectorAll("[data-part]")) {
    const page = await load(part.dataset.part);
    if (take(part, page)) await fill(part);
    part.removeAttribute("aria-busy");
  }
}
void fill(document);

// A form that shows its effect while it is filled.
for (const form of document.querySelectorAll("form[data-shows]")) {
  let last = 0;
  const show = async () => {
    const turn = ++last;
    const page = await load(form.action, form);
    if (turn !== last) return;
    for (const into of form.querySelectorAll("[data-shown]")) {
      // The person goes on where they are.
      const active = into.contains(document.activeElement) ? document.activeElement.id : "";
      if (!active || into.dataset.shown === "always") take(into, page);
      if (active) document.getElementById(active)?.focus();
      void fill(into);
    }
  };
  form.addEventListener("change", show);
}

// A message is sent once, however often the button is pressed.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  setTimeout(() => {
    for (const button of event.target.querySelectorAll("button")) button.disabled = true;
  });
  setTimeout(() => {
    for (const button of event.target.querySelectorAll("button")) button.disabled = false;
  }, 4_000);
});

// On a phone the parts are a row that scrolls: it starts where the person is.
const row = document.querySelector(".side nav");
const part = row?.querySelector("[aria-current]");
if (part) row.scrollLeft = part.offsetLeft - row.offsetLeft - (row.clientWidth - part.offsetWidth) / 2;

// Escape closes what a word says of itself.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.activeElement?.blur();
});
