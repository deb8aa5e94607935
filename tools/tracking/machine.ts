import { isbot } from "isbot";

// Apple's privacy protection says no more than the first; the others fetch pictures for their users.
const FETCHERS = /^Mozilla\/5\.0$|GoogleImageProxy|YahooMailProxy|ggpht\.com/i;

/** Whether a request for a picture or a link was made by a program and not by a person, as far as it says so. */
export function isMachine(method: string, userAgent: string | undefined): boolean {
  const agent = userAgent?.trim() ?? "";
  return method === "HEAD" || agent === "" || FETCHERS.test(agent) || isbot(agent);
}
