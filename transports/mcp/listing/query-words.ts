/** Synonyms: people's words for the words of the tools. */
const SYNONYMS: readonly (readonly string[])[] = [
  ["delete", "remove", "erase", "destroy", "drop", "forget"],
  ["create", "add", "new", "register", "insert", "make", "define", "set", "report"],
  ["update", "change", "edit", "modify", "set", "rename"],
  ["rotate", "change", "renew", "replace"],
  ["list", "find", "search", "all", "browse", "which"],
  ["get", "show", "read", "view", "fetch", "look", "detail"],
  ["player", "guest", "customer", "patron", "person", "people"],
  ["segment", "audience", "group", "cohort"],
  ["campaign", "blast", "newsletter", "mailing", "broadcast"],
  ["send", "launch", "deliver"],
  ["schedule", "later", "plan", "tomorrow"],
  ["unschedule", "cancel", "postpone"],
  ["cancel", "abort", "stop", "halt"],
  ["pause", "hold", "halt", "stop"],
  ["resume", "continue", "unpause"],
  ["duplicate", "copy", "clone"],
  ["preflight", "check", "before", "ready", "test"],
  ["stat", "report", "result", "performance", "open", "click", "metric"],
  ["preview", "count", "match", "many"],
  ["sms", "text", "phone"],
  ["consent", "optin", "permission", "agree"],
  ["revoke", "unsubscribe", "optout", "withdraw", "stop"],
  ["suppression", "block", "blacklist", "bounce"],
  ["dnc", "call"],
  ["compliance", "allowed", "eligible", "may"],
  ["export", "download", "csv", "extract"],
  ["import", "upload", "load"],
  ["error", "fail", "problem", "wrong", "why"],
  ["webhook", "callback", "notify", "event"],
  ["redeliver", "replay", "resend", "retry", "again"],
  ["template", "design", "layout"],
  ["mailbox", "inbox", "outgoing"],
  ["audit", "history", "log"],
  ["record", "history"],
  ["frequency", "limit", "cap", "often", "week"],
  ["get", "status", "done", "progress"],
  ["send", "got", "received"],
  ["validate", "verify", "check"],
  ["privacy", "gdpr", "ccpa"],
];
const SYNONYM_WEIGHT = 0.6;

const STOP = new Set(
  (
    "a an and are as at be been but by can could did do does for from had has have he her here him his how i if in is it its " +
    "just me my of on or our she should so than that the their them then there these they this those to too very want was we " +
    "were what who will with would you your"
  ).split(" "),
);

/** The words of a request, and of those that mean the same, each with its weight. */
export function weightedWords(query: string): Map<string, number> {
  const weights = new Map<string, number>();
  const raise = (word: string, weight: number) => weights.set(word, Math.max(weights.get(word) ?? 0, weight));
  const words = wordsOf(query);
  const isLong = words.filter((word) => !COMMON.has(word)).length >= 2;
  for (const word of words) {
    const weight = isLong && COMMON.has(word) ? COMMON_WEIGHT : 1;
    raise(word, weight);
    for (const other of SYNONYMS_BY_STEM.get(word) ?? []) raise(other, weight * SYNONYM_WEIGHT);
  }
  return weights;
}

/** Lower-cased words, camelCase and snake_case taken apart, endings taken off. */
export function wordsOf(text: string): string[] {
  return split(text)
    .filter((word) => word.length > 1 && !STOP.has(word))
    .map(stem);
}

/** The same with small words, which make a phrase. */
export function allWordsOf(text: string): string[] {
  return split(text).map(stem);
}

/** A time of a question says nothing of its subject. A future time stays in it: it means a schedule. */
const PAST =
  /\b(?:last|this|past|previous) (?:night|week|weekend|month|quarter|year)\b|\b(?:yesterday|today)\b/gi;

/** People who are left out are not the subject of a request. */
const LEFT_OUT =
  /(?<=\w[\w ,'-]*) (?:but|and|who are|that are)? ?(?:not|never|except|excluding|without) (?:the )?self[- ]?(?:excluded|exclusions?)(?: (?:ones|players|people))?\b/gi;

function split(text: string): string[] {
  return text
    .replace(PAST, " ")
    .replace(LEFT_OUT, " ")
    .replace(/\bopt(?:ed|s)?[- ](in|out)\b/gi, "opt$1")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** A stem long enough to join one word's forms; it need not be a word. */
export function stem(word: string): string {
  const bare = word
    .replace(/ies$/, "y")
    .replace(/(ss|us|is)$|s$/, "$1")
    .replace(/(.{3,})(?:ing|ed|ions?)$/, "$1")
    .replace(/(.)\1$/, "$1");
  return bare.length > 3 ? bare.replace(/e$/, "") : bare;
}

const SYNONYMS_BY_STEM = new Map<string, string[]>();
for (const group of SYNONYMS.map((words) => words.map(stem))) {
  for (const word of group) {
    const others = SYNONYMS_BY_STEM.get(word) ?? [];
    SYNONYMS_BY_STEM.set(word, [...others, ...group.filter((other) => other !== word)]);
  }
}

// They stand in most requests, and say little beside the other words.
const COMMON = new Set(
  "player guest customer person people member campaign email mail message data list test all new"
    .split(" ")
    .map(stem),
);
const COMMON_WEIGHT = 0.4;
