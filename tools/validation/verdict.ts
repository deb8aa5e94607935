import { disposableEmailBlocklistSet } from "disposable-email-domains-js";
import { z } from "zod";
import type { Mailbox } from "#runtime/channels/validation/mailgun.ts";
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
  "mailbox_not_found",
  "mailbox_full",
  "catch_all",
  "smtp_timeout",
] as const;

export const Checks = z.object({
  syntax: z.boolean(),
  mx: z.boolean().nullable().describe("The domain has a mail server; null: not checked, or no answer"),
  null_mx: z.boolean().nullable().describe("The domain says that it takes no mail (RFC 7505)"),
  disposable: z.boolean(),
  role: z.boolean().describe("A role, not a person: info@, sales@"),
  free_provider: z.boolean(),
  catch_all: z.boolean().nullable().describe("The domain takes mail for any name; null: not asked"),
  smtp_deliverable: z
    .boolean()
    .nullable()
    .describe(
      "By this property's own messages, else by the validation provider: true delivered, false refused, null unknown",
    ),
});

export interface AddressVerdict {
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
  /** Null when no provider was asked. */
  mailbox?: Mailbox | null;
}

let disposable: ReadonlySet<string> | undefined;

/** The package's own question makes the set of all domains anew for each address: a millisecond each. */
function disposableDomains(): ReadonlySet<string> {
  disposable ??= disposableEmailBlocklistSet();
  return disposable;
}

/**
 * The verdict, by Reacher's scheme. Undeliverable: it cannot take mail. Risky: it may, but is better avoided.
 * Deliverable needs proof, which the DNS alone lacks: until then an address is unknown, of low risk.
 */
export function verdictOf({ address, domain, delivered, mailbox = null }: Evidence): AddressVerdict {
  if (address === null) return nothing("invalid_syntax");
  const at = address.lastIndexOf("@");
  const [local, host] = [address.slice(0, at), address.slice(at + 1)];
  const isDisposable = disposableDomains().has(host.toLowerCase());
  const isRole = ROLES.has(local.split("+")[0]!);
  const better = suggestion(host);
  const checks: AddressVerdict["checks"] = {
    syntax: true,
    mx: domain === null || domain === "dns_timeout" ? null : domain === "mx",
    null_mx: domain === null || domain === "dns_timeout" ? null : domain === "null_mx",
    disposable: isDisposable,
    role: isRole,
    free_provider: FREE_DOMAINS.has(host),
    catch_all: mailbox && mailbox.result !== "unknown" ? mailbox.result === "catch_all" : null,
    smtp_deliverable: delivered === null ? deliverableBy(mailbox) : delivered === "yes",
  };
  const reasons: AddressVerdict["reasons"] = [
    ...reasonsOf(domain),
    ...(delivered === "bounced" ? (["previously_bounced"] as const) : []),
    ...mailboxReasons(mailbox),
    ...(isDisposable ? (["disposable_domain"] as const) : []),
    ...(isRole ? (["role_address"] as const) : []),
  ];
  const did_you_mean = better === null ? (mailbox?.didYouMean ?? null) : `${local}@${better}`;
  return { ...weighed({ domain, delivered, mailbox, isDisposable, isRole }), reasons, checks, did_you_mean };
}

const DEAD = new Set<MailDomain | null>(["domain_not_found", "null_mx", "no_mx"]);

function weighed(known: {
  domain: MailDomain | null;
  delivered: Evidence["delivered"];
  mailbox: Mailbox | null;
  isDisposable: boolean;
  isRole: boolean;
}): Pick<AddressVerdict, "result" | "risk"> {
  const { domain, delivered, mailbox, isDisposable, isRole } = known;
  if (DEAD.has(domain) || delivered === "bounced") return { result: "undeliverable", risk: "high" };
  if (mailbox?.result === "undeliverable" && !mailbox.isFull)
    return { result: "undeliverable", risk: "high" };
  if (isDisposable || mailbox?.result === "do_not_send") return { result: "risky", risk: "high" };
  if (isRole || domain === "address_only") return { result: "risky", risk: "medium" };
  if (delivered === "yes") return { result: "deliverable", risk: "low" };
  if (mailbox?.isFull || mailbox?.result === "catch_all") return { result: "risky", risk: "medium" };
  if (mailbox?.result === "deliverable") {
    return { result: mailbox.risk === "high" ? "risky" : "deliverable", risk: mailbox.risk };
  }
  return { result: "unknown", risk: domain === "mx" ? "low" : "unknown" };
}

/** A vendor's word that a mailbox is there, or is not there, is proof. Its "unknown" is not. */
function deliverableBy(mailbox: Mailbox | null): boolean | null {
  if (mailbox?.result === "deliverable") return true;
  return mailbox?.result === "undeliverable" ? false : null;
}

function mailboxReasons(mailbox: Mailbox | null): AddressVerdict["reasons"] {
  if (mailbox?.isFull) return ["mailbox_full"];
  if (mailbox?.result === "undeliverable") return ["mailbox_not_found"];
  if (mailbox?.result === "catch_all") return ["catch_all"];
  return mailbox?.result === "unknown" ? ["smtp_timeout"] : [];
}

/** Whether only the mailbox's own server can tell more. */
export function isOpen({ address, domain, delivered }: Evidence): boolean {
  return address !== null && !DEAD.has(domain) && delivered === null;
}

function reasonsOf(domain: MailDomain | null): AddressVerdict["reasons"] {
  if (domain === null || domain === "mx") return [];
  return [domain === "address_only" ? "no_mx" : domain];
}

function nothing(reason: AddressVerdict["reasons"][number]): AddressVerdict {
  const unknown = { mx: null, null_mx: null, catch_all: null, smtp_deliverable: null };
  const checks = { syntax: false, disposable: false, role: false, free_provider: false, ...unknown };
  return { result: "undeliverable", risk: "high", reasons: [reason], checks, did_you_mean: null };
}
