import { isDisposableEmailDomain } from "disposable-email-domains-js";
import { z } from "zod";
import type { MailDomain } from "#runtime/network/mail-domains.ts";
import { FREE_DOMAINS, ROLES, suggestion } from "./domains.ts";

export const RESULTS = ["deliverable", "risky", "undeliverable", "unknown"] as const;
export const RISKS = ["low", "medium", "high", "unknown"] as const;
/** The reasons for a verdict. Reasons about the mailbox itself come from a provider that can check it. */
export const REASONS = [
  "invalid_syntax",
  "domain_not_found",
  "no_mx",
  "null_mx",
  "dns_timeout",
  "disposable_domain",
  "role_address",
  "previously_bounced",
] as const;

export const Checks = z.object({
  syntax: z.boolean(),
  mx: z.boolean().nullable().describe("The domain has a mail server; null: not checked, or no answer"),
  null_mx: z.boolean().nullable().describe("The domain says that it takes no mail (RFC 7505)"),
  disposable: z.boolean(),
  role: z.boolean().describe("A role, not a person: info@, sales@"),
  free_provider: z.boolean(),
  catch_all: z.boolean().nullable(),
  smtp_deliverable: z
    .boolean()
    .nullable()
    .describe("By this property's own messages: true delivered, false bounced, null none"),
});

export interface Verdict {
  result: (typeof RESULTS)[number];
  risk: (typeof RISKS)[number];
  reasons: (typeof REASONS)[number][];
  checks: z.output<typeof Checks>;
  did_you_mean: string | null;
}

/** The facts about an address that determine its verdict. */
export interface Evidence {
  /** In its stored form; null when it is not an address. */
  address: string | null;
  /** Null when the DNS was not queried. */
  domain: MailDomain | null;
  /** Whether this property's messages to it were delivered or bounced. */
  delivered: "yes" | "bounced" | null;
}

/**
 * The verdict, by Reacher's scheme. Undeliverable: it cannot take mail. Risky: it may, but is better avoided.
 * Deliverable needs proof, and the DNS alone never gives it: without proof an address is unknown, of low risk.
 */
export function verdictOf({ address, domain, delivered }: Evidence): Verdict {
  if (address === null) return nothing("invalid_syntax");
  const at = address.lastIndexOf("@");
  const [local, host] = [address.slice(0, at), address.slice(at + 1)];
  const isDisposable = isDisposableEmailDomain(host);
  const isRole = ROLES.has(local.split("+")[0]!);
  const better = suggestion(host);
  const checks: Verdict["checks"] = {
    syntax: true,
    mx: domain === null || domain === "dns_timeout" ? null : domain === "mx",
    null_mx: domain === null || domain === "dns_timeout" ? null : domain === "null_mx",
    disposable: isDisposable,
    role: isRole,
    free_provider: FREE_DOMAINS.has(host),
    catch_all: null,
    smtp_deliverable: delivered === null ? null : delivered === "yes",
  };
  const reasons: Verdict["reasons"] = [
    ...reasonsOf(domain),
    ...(delivered === "bounced" ? (["previously_bounced"] as const) : []),
    ...(isDisposable ? (["disposable_domain"] as const) : []),
    ...(isRole ? (["role_address"] as const) : []),
  ];
  const did_you_mean = better === null ? null : `${local}@${better}`;
  return { ...weighed({ domain, delivered, isDisposable, isRole }), reasons, checks, did_you_mean };
}

const DEAD = new Set<MailDomain | null>(["domain_not_found", "null_mx", "no_mx"]);

function weighed(known: {
  domain: MailDomain | null;
  delivered: Evidence["delivered"];
  isDisposable: boolean;
  isRole: boolean;
}): Pick<Verdict, "result" | "risk"> {
  const { domain, delivered, isDisposable, isRole } = known;
  if (DEAD.has(domain) || delivered === "bounced") return { result: "undeliverable", risk: "high" };
  if (isDisposable) return { result: "risky", risk: "high" };
  if (isRole || domain === "address_only") return { result: "risky", risk: "medium" };
  if (delivered === "yes") return { result: "deliverable", risk: "low" };
  return { result: "unknown", risk: domain === "mx" ? "low" : "unknown" };
}

function reasonsOf(domain: MailDomain | null): Verdict["reasons"] {
  if (domain === null || domain === "mx") return [];
  return [domain === "address_only" ? "no_mx" : domain];
}

function nothing(reason: Verdict["reasons"][number]): Verdict {
  const unknown = { mx: null, null_mx: null, catch_all: null, smtp_deliverable: null };
  const checks = { syntax: false, disposable: false, role: false, free_provider: false, ...unknown };
  return { result: "undeliverable", risk: "high", reasons: [reason], checks, did_you_mean: null };
}
