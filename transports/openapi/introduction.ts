/** The front page of the API reference, in Markdown. */
export function introduction(baseUrl: string): string {
  return `Casino player marketing: players, consent, compliance, segments, campaigns, webhooks.
The same operations are tools for AI agents at \`/api/mcp\`, and commands of the CLI. Guides: [${baseUrl}/docs](${baseUrl}/docs).

## Getting started

1. Take the API key that the first start has printed, or make one: \`npm run tool -- create-api-key --property demo --name mine\`.
2. Press **Authorize**, and paste the key into *apiKey*. The browser keeps it for this page.
3. Open *List players*, press **Execute**.

The examples are about the demo property, and work there as they stand. The example of a call that reaches people or cannot be taken back is a dry run: \`"dry_run": true\` says what would happen, and changes nothing.

\`\`\`sh
curl -H "X-Api-Key: $API_KEY" '${baseUrl}/api/players?tier.eq=Gold&limit=3'
\`\`\`

## Two kinds of addresses

- Tables: \`GET POST PATCH DELETE /api/{table}\` and \`/api/{table}/{id}\`, with filters, \`select\`, \`order\`, \`limit\` and \`cursor\`. Every write takes \`dry_run=true\` in the address.
- Functions: \`POST /api/functions/{name}\` with a JSON body, which may say \`dry_run\` itself.

A write with an \`Idempotency-Key\` is safe to repeat for 24 hours.

## Rate limits

An API key has its own \`rate_limit\`: 100 requests a minute by default, 1000 for the demo's key. A signed-in user has 300, an address without a credential 600. Every answer carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`. A refusal is 429 with \`Retry-After\` in seconds.

## Errors

\`\`\`json
{ "error": "limit: is an integer from 0 to 1000", "code": "invalid", "details": [{ "field": "limit", "message": "…" }] }
\`\`\`

Branch on \`code\`, show \`error\` to people. 400 names each wrong field. 401: another credential. 403: a credential that may. 404: no such record in this property. 409: the record's state does not allow it. 429 and 503: repeat after \`retry_after\` seconds.`;
}

/** By domain, what its operations are for. */
export const TAGS: Readonly<Record<string, string>> = {
  players: "Players with their gaming figures, own fields, events and shares",
  consent: "The ledger of consents and revocations, and their receipts",
  compliance: "The rules that every message passes: suppressions, do-not-call, self-exclusion, hours, caps",
  segments: "Saved audiences, by rules or by lists of members",
  campaigns: "Campaigns and their templates: written, checked, sent, scheduled, counted",
  providers: "The vendors by which mail and texts leave",
  inbox: "Messages in the property's own inbox",
  sms: "Texts that players send: keywords, opt-outs and those that a person must read",
  mailbox: "Messages that were kept for reading instead of being sent",
  imports: "Players from files, with the refused rows",
  validation: "Checks of email addresses",
  webhooks: "Signed events for other systems, their deliveries and repetitions",
  privacy: "Export and erasure of a person's data, and legal holds",
  properties: "The casinos of the installation and their settings",
  access: "Sign-in, users, memberships and API keys",
  audit: "Every write, sealed, and its verification",
  platform: "Work of the service itself",
};
