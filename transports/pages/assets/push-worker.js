// Shows the notifications of the casino, in browsers that do not read Declarative Web Push themselves.
self.addEventListener("push", (event) => {
  const shown = read(event.data);
  if (!shown) return;
  const { title, navigate, ...options } = shown;
  event.waitUntil(self.registration.showNotification(title, { ...options, data: { navigate } }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { navigate } = event.notification.data ?? {};
  if (navigate) event.waitUntil(self.clients.openWindow(navigate));
});

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

function read(data) {
  try {
    const { notification } = data.json();
    return typeof notification.title === "string" ? notification : null;
  } catch {
    return null;
  }
}
