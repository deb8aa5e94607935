import "#runtime/plain-words.ts";
import { Resolver } from "node:dns";
import { z } from "zod";
import { type Retention, retentionOf, retentionSettings, whole } from "./retention.ts";

const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ""));
const toggle = z.enum(["on", "off"]);

const DATABASE_ADDRESS =
  "must be such as postgres://user:password@db.example:5432/name, with % # / ? @ in a password written %25 %23 %2F %3F %40";

const database = z
  .url({ protocol: /^postgres(ql)?$/, error: DATABASE_ADDRESS })
  .refine(isDecodable, DATABASE_ADDRESS)
  .optional();

const Environment = z.object({
  PORT: whole(0, 65_535).default(8787).describe("The port of HTTP. 0 takes a free one."),
  METRICS_PORT: whole(0, 65_535)
    .optional()
    .describe(
      "A second port, with /metrics, /healthz and /readyz alone: for workers, and to keep /metrics from the public. Without it /metrics answers programs of this machine on PORT.",
    ),
  HOST: z.string().min(1).default("127.0.0.1").describe("The address to listen on."),
  BASE_URL: url.optional().describe("The address of the API for its callers. Default: from HOST and PORT."),
  SITE_URL: url.optional().describe("The address of the discovery documents. Default: BASE_URL."),
  SECURITY_CONTACT: z
    .url({ protocol: /^(https|mailto|tel)$/ })
    .optional()
    .describe("The contact for reports of flaws, such as mailto:security@casino.example. Default: SITE_URL."),
  TRUST_PROXY: whole(0, 10)
    .default(0)
    .describe(
      "The number of proxies in front of the service: the caller's address is that many places from the end of X-Forwarded-For.",
    ),
  DATABASE_URL: database.describe("A PostgreSQL 15 or newer. Without it the service starts one in DATA_DIR."),
  READ_DATABASE_URL: database.describe("A streaming standby of it, for lists, counts and exports."),
  DATABASE_POOL: whole(2, 100)
    .default(4)
    .describe("Connections per process, for writing and for reading each."),
  DATA_DIR: z
    .string()
    .min(1)
    .default(".data")
    .describe("The folder of the embedded database and its secret."),
  ROLE: z
    .enum(["web", "worker", "all"])
    .default("all")
    .describe("The work of this process. web and worker need DATABASE_URL."),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("warn")
    .describe("The lowest level that is logged."),
  SENDING: toggle
    .default("on")
    .describe("off: this process sends nothing to persons or receivers. The messages wait in the queue."),
  DEMO: toggle.default("on").describe("Fills an empty embedded database with a demo property."),
  APP_SECRET: z
    .string()
    .min(32, "must have at least 32 characters")
    .optional()
    .describe("Signs links and encrypts secrets. Required with DATABASE_URL, else made once in DATA_DIR."),
  HEADER_PREFIX: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,30}$/)
    .default("Service")
    .describe("The product's name in webhook headers: X-Service-Event."),
  JWT_ISSUER: z
    .string()
    .min(1)
    .optional()
    .describe(
      "An outside identity provider. Its tokens sign users in by their email, where the token says email_verified: true.",
    ),
  JWT_AUDIENCE: z.string().min(1).optional().describe("The audience that the provider's tokens must name."),
  JWKS_URL: url.optional().describe("The address of the provider's public keys."),
  EMAIL_PROVIDER: z
    .enum(["mailbox", "smtp"])
    .default("mailbox")
    .describe("mailbox stores messages in a table and sends nothing."),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe("Such as smtp://user:password@mail.example:587. Required with EMAIL_PROVIDER=smtp."),
  EMAIL_FROM: z
    .email()
    .optional()
    .describe("The sender where neither a campaign nor its property names one."),
  VALIDATION_KEY: z
    .string()
    .min(1)
    .optional()
    .describe("A Mailgun key, for email validation at the level full. Mailgun then gets the addresses."),
  VALIDATION_URL: url
    .default("https://api.mailgun.net/v4/address/validate")
    .describe(
      "The address of Mailgun's validation; for Europe https://api.eu.mailgun.net/v4/address/validate.",
    ),
  DNS_SERVERS: z
    .string()
    .refine(areResolvers, "must be addresses, with or without a port, such as 1.1.1.1,9.9.9.9:53")
    .optional()
    .describe("The resolvers for email validation, such as 1.1.1.1,9.9.9.9:53. Default: the machine's."),
  WEBHOOK_ALLOW_PRIVATE: toggle
    .default("off")
    .describe("Allows private receivers, push services and SMTP hosts, and plain http, for development."),
  CORS_ORIGINS: z
    .string()
    .refine(areOrigins, "must be origins such as https://dashboard.example, separated by commas")
    .optional()
    .describe("Origins whose pages may call the API from a browser. Default: none."),
  ...retentionSettings,
  NODE_ENV: z.string().optional(),
});

/** One setting, described for operators. Settings without a description are Node's own. */
export interface Setting {
  name: string;
  default: string | null;
  choices: string[];
  description: string;
}

/** The operator's settings, from the schema that reads them. */
export function settings(): Setting[] {
  return Object.entries(Environment.shape).flatMap(([name, schema]) => {
    const {
      description,
      default: value,
      enum: choices,
    } = z.toJSONSchema(schema, { io: "input" }) as z.core.JSONSchema.JSONSchema;
    if (!description) return [];
    return {
      name,
      description,
      default: value === undefined ? null : String(value),
      choices: (choices ?? []).map(String),
    };
  });
}

export interface Config {
  port: number;
  metricsPort: number | null;
  host: string;
  /** The API's base address, without a trailing slash. */
  baseUrl: string;
  siteUrl: string;
  /** The contact for reporting flaws, in security.txt. */
  securityContact: string | null;
  /** The number of trusted proxies in X-Forwarded-For. */
  trustProxy: number;
  databaseUrl: string | null;
  readDatabaseUrl: string | null;
  databasePool: number;
  dataDir: string;
  role: "web" | "worker" | "all";
  logLevel: string;
  /** Whether this process runs jobs that send. */
  sending: boolean;
  demo: boolean;
  appSecret: string;
  headerPrefix: string;
  identityProvider: { issuer: string; audience: string; jwksUrl: string } | null;
  email: { provider: "mailbox" | "smtp"; smtpUrl: string | null; from: string | null };
  /** Addresses of resolvers; empty for the machine's. */
  dnsServers: readonly string[];
  /** The vendor that knows mailboxes, for email validation. */
  validation: { url: string; key: string } | null;
  /** Receivers on private addresses and plain http: for development and tests. */
  webhooksAllowPrivate: boolean;
  /** Origins whose pages may call the API. */
  corsOrigins: string[];
  /** Whole months that rows are kept. A property may keep them longer. */
  retention: Retention;
}

/** The part by which links are signed and secrets sealed. */
export type AppSecret = Pick<Config, "appSecret">;

/** The settings from the environment. The start of the service fills in the rest: a free port, a generated secret. */
export interface Settings extends Omit<Config, "appSecret"> {
  appSecret: string | null;
  /** Whether the environment gives the setting, which otherwise follows from others. */
  explicit: { port: boolean; baseUrl: boolean; siteUrl: boolean };
}

/** A setting that stops the start; the message has one readable line per setting. */
export class ConfigError extends Error {}

/** Reads the environment without side effects. `BASE_URL` follows the listening address unless it is given. */
export function readConfig(environment: NodeJS.ProcessEnv & { APP_SECRET: string }): Settings & Config;
export function readConfig(environment: NodeJS.ProcessEnv): Settings;
export function readConfig(environment: NodeJS.ProcessEnv): Settings {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) throw new ConfigError(explain(parsed.error, given));
  const env = parsed.data;
  const problems = contradictions(env);
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  const baseUrl = env.BASE_URL ?? addressOf(env.HOST, env.PORT);
  return {
    explicit: { port: given.PORT !== undefined, baseUrl: !!env.BASE_URL, siteUrl: !!env.SITE_URL },
    port: env.PORT,
    metricsPort: env.METRICS_PORT ?? null,
    host: env.HOST,
    baseUrl,
    siteUrl: env.SITE_URL ?? baseUrl,
    securityContact: env.SECURITY_CONTACT ?? null,
    trustProxy: env.TRUST_PROXY,
    databaseUrl: env.DATABASE_URL ?? null,
    readDatabaseUrl: env.READ_DATABASE_URL ?? null,
    databasePool: env.DATABASE_POOL,
    dataDir: env.DATA_DIR,
    role: env.ROLE,
    logLevel: env.LOG_LEVEL,
    sending: env.SENDING === "on",
    demo: env.DEMO === "on" && env.DATABASE_URL === undefined,
    appSecret: env.APP_SECRET ?? null,
    headerPrefix: env.HEADER_PREFIX,
    identityProvider:
      env.JWT_ISSUER && env.JWT_AUDIENCE && env.JWKS_URL
        ? { issuer: env.JWT_ISSUER, audience: env.JWT_AUDIENCE, jwksUrl: env.JWKS_URL }
        : null,
    email: { provider: env.EMAIL_PROVIDER, smtpUrl: env.SMTP_URL ?? null, from: env.EMAIL_FROM ?? null },
    dnsServers: env.DNS_SERVERS ? listed(env.DNS_SERVERS) : [],
    validation: env.VALIDATION_KEY ? { url: env.VALIDATION_URL, key: env.VALIDATION_KEY } : null,
    webhooksAllowPrivate: env.WEBHOOK_ALLOW_PRIVATE === "on",
    corsOrigins: env.CORS_ORIGINS ? listed(env.CORS_ORIGINS) : [],
    retention: retentionOf(env),
  };
}

/** The same settings on another port. */
export function onPort(settings: Settings, port: number): Settings {
  const { explicit, host } = settings;
  const baseUrl = explicit.baseUrl ? settings.baseUrl : addressOf(host, port);
  return { ...settings, port, baseUrl, siteUrl: explicit.siteUrl ? settings.siteUrl : baseUrl };
}

function listed(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function areOrigins(text: string): boolean {
  return listed(text).every((one) => URL.canParse(one) && new URL(one).origin === one);
}

function areResolvers(text: string): boolean {
  try {
    new Resolver().setServers(listed(text));
    return true;
  } catch {
    return false;
  }
}

function explain(error: z.ZodError, given: Record<string, string | undefined>): string {
  return error.issues
    .map((issue) => {
      const name = String(issue.path[0]);
      const shown = /SECRET|URL/.test(name) ? "" : ` (it is "${given[name]}")`;
      return `${name}${shown}: ${issue.message}`;
    })
    .join("\n");
}

function contradictions(env: z.output<typeof Environment>): string[] {
  const problems: string[] = [];
  if (env.DATABASE_URL && !env.APP_SECRET) {
    problems.push("APP_SECRET: required with DATABASE_URL. Make one with: openssl rand -hex 32");
  }
  if (env.READ_DATABASE_URL && !env.DATABASE_URL) problems.push("READ_DATABASE_URL: needs DATABASE_URL too");
  if (!env.DATABASE_URL && env.ROLE !== "all") {
    problems.push(
      `ROLE: ${env.ROLE} runs half of the service, and no other process can use the embedded database. Set DATABASE_URL, or leave ROLE out.`,
    );
  }
  const identity = [env.JWT_ISSUER, env.JWT_AUDIENCE, env.JWKS_URL].filter(Boolean).length;
  if (identity % 3 !== 0) problems.push("JWT_ISSUER, JWT_AUDIENCE, JWKS_URL: set all three, or none");
  if (env.EMAIL_PROVIDER === "smtp" && !env.SMTP_URL) {
    problems.push("SMTP_URL: EMAIL_PROVIDER=smtp needs it, such as smtp://user:password@mail.example:587");
  }
  return problems;
}

function addressOf(host: string, port: number): string {
  const reached = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}
