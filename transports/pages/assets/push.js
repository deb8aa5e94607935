// The subscription of this browser. Subscribing takes a script: the browser gives the keys to scripts alone.
const box = document.querySelector("#push");
const { key, worker, scope, language, on } = box.dataset;
let pressed = false;
const say = (name) => {
  for (const part of box.querySelectorAll("[data-state]")) {
    part.hidden = part.dataset.state !== name;
    // The pressed button is gone, and with it the focus. A screen reader says what has it.
    if (pressed && !part.hidden) part.focus();
  }
};

if (!("serviceWorker" in navigator && "PushManager" in window)) {
  say(/iP(hone|ad|od)/.test(navigator.userAgent) ? "install" : "unsupported");
} else if (Notification.permission === "denied") {
  say("denied");
} else {
  box.querySelector("form[data-turn=on]").addEventListener("submit", (event) => {
    event.preventDefault();
    turnOn().catch(() => say("failed"));
  });
  const known = await current();
  if (on !== undefined && known) {
    // Another player may have subscribed this browser.
    const { ok } = await post(known, false);
    say(ok && (await renewed(known).catch(() => false)) ? "on" : "off");
  } else {
    say("off");
  }
}

async function turnOn() {
  pressed = true;
  say("working");
  const permission = await Notification.requestPermission();
  if (permission !== "granted") return say(permission === "denied" ? "denied" : "off");
  const registration = await navigator.serviceWorker.register(trusted(worker), { scope });
  await active(registration);
  const options = { userVisibleOnly: true, applicationServerKey: bytesOf(key) };
  const before = await registration.pushManager.getSubscription();
  if (before && !isFor(before, options.applicationServerKey)) await before.unsubscribe();
  const { ok } = await post(await registration.pushManager.subscribe(options), true);
  say(ok ? "on" : "failed");
}

/** The subscription that this browser has. */
async function current() {
  const registration = await navigator.serviceWorker.getRegistration(scope);
  return registration?.pushManager.getSubscription();
}

/** Subscribes anew where the property has another key by now. */
async function renewed(known) {
  const applicationServerKey = bytesOf(key);
  if (isFor(known, applicationServerKey)) return true;
  const { pushManager } = await navigator.serviceWorker.getRegistration(scope);
  await known.unsubscribe();
  const { ok } = await post(
    await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }),
    false,
  );
  return ok;
}

function post(subscription, agreed) {
  const { endpoint, keys } = subscription.toJSON();
  return fetch(location.pathname, {
    method: "POST",
    headers: { "content-type": "application/json" },
    // Browsers that translate a page give the document another language.
    body: JSON.stringify({ endpoint, ...keys, publicKey: textOf(subscription.options), agreed, language }),
  });
}

function active({ installing, waiting, active: running }) {
  const one = installing ?? waiting;
  if (running || !one) return;
  return new Promise((resolve, reject) => {
    one.addEventListener("statechange", () => {
      if (one.state === "activated") resolve();
      if (one.state === "redundant") reject(new Error("the worker was not installed"));
    });
  });
}

function isFor({ options }, wanted) {
  const own = new Uint8Array(options.applicationServerKey ?? []);
  return own.length === wanted.length && own.every((byte, index) => byte === wanted[index]);
}

function textOf({ applicationServerKey }) {
  const letters = String.fromCharCode(...new Uint8Array(applicationServerKey));
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytesOf(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

/** The address of our own worker, where the browser asks for a trusted one. */
function trusted(url) {
  const policy = window.trustedTypes?.createPolicy("push-worker", {
    createScriptURL: (wanted) => {
      if (wanted !== worker) throw new TypeError("not our worker");
      return wanted;
    },
  });
  return policy ? policy.createScriptURL(url) : url;
}
