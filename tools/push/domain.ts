import type { Domain } from "#runtime/operation/catalog.ts";
import pushSubscriptions from "#tools/push-subscriptions/push-subscriptions.table.ts";
import rotatePushKeys from "./rotate-push-keys.ts";
import showPush from "./show-push.ts";
import subscribePush from "./subscribe-push.ts";
import unsubscribePush from "./unsubscribe-push.ts";

/** The players' browsers, and the page on which players subscribe them. */
export const push: Domain = {
  name: "push",
  title: "Web push",
  tables: [pushSubscriptions],
  tools: [rotatePushKeys, showPush, subscribePush, unsubscribePush],
};
