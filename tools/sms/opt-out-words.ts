// "Reply STOP to opt out", "STOP to end", "Txt STOP=end", "STOP2END", "Responda ALTO para cancelar".
const SAYS_HOW = [
  /\b(?:reply|text|txt|send|rply|answer)\W{1,3}(?:the\W{1,3}word\W{1,3})?(?:stop|end|quit|cancel|unsubscribe)\b/i,
  /\b(?:stop|quit)\s*(?:to|2|=|:|for|a|para|pour)\s*(?:opt|end|quit|cancel|unsub|stop|salir|terminar)/i,
  /(?:responda|responde|env[ií]e|env[ií]a|r[eé]pondez|envoyez)\W{1,3}(?:stop|alto|parar|arr[eê]t)/i,
];

/** The text with `words` appended, unless it already explains how to opt out. */
export function withOptOut(text: string, words: string): string {
  if (SAYS_HOW.some((pattern) => pattern.test(text)) || text.includes(words)) return text;
  return `${text}\n${words}`;
}
