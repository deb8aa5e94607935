import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { canonical } from "#runtime/funnel/audit.ts";
import { columnNames } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import consentRecords from "./consent-records.table.ts";

const VERSION = "KI-CR-v1.1.0";

const Receipt = z.object({
  version: z.string(),
  jurisdiction: z.string(),
  consentTimestamp: z.int().describe("Unix seconds"),
  collectionMethod: z.string(),
  consentReceiptID: z.uuid(),
  language: z.string().optional(),
  piiPrincipalId: z.string().describe("The player's id"),
  piiControllers: z.array(z.record(z.string(), z.unknown())),
  policyUrl: z.string(),
  services: z.array(z.record(z.string(), z.unknown())),
  sensitive: z.boolean(),
  spiCat: z.array(z.string()),
  event: z.record(z.string(), z.unknown()).describe("The ledger's entry in the form of ISO/IEC TS 27560"),
});

export default tool({
  name: "consent_receipt",
  title: "Issue a consent receipt",
  description:
    "Returns one entry of the consent ledger as a Kantara consent receipt, with a detached JWS over its canonical JSON (RFC 8785). Verify it with the keys at /.well-known/jwks.json.",
  scope: "read",
  effect: "read",
  recorded: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("From list_players"),
    consentId: z.uuid().describe("From list_consent_records"),
  },
  output: z.object({
    receipt: Receipt,
    jws: z.string().describe("<header>..<signature>: the payload between the dots is the receipt itself"),
  }),
  faults: ["not_found"],
  async handler(context, { playerId, consentId }) {
    const receipt = receiptOf(context, await findConsent(context, playerId, consentId));
    context.audit({ entity: "consent_records", entityId: consentId });
    return { receipt, jws: await context.signDetached(Buffer.from(canonical(receipt))) };
  },
});

/** An entry of the ledger, its time in Unix seconds, and the known data of its player. */
type Consent = RowOf<typeof consentRecords.columns> & {
  player_id: string;
  seconds: number;
  language: string | null;
  country: string | null;
};

async function findConsent({ sql, property }: Context, playerId: string, id: string): Promise<Consent> {
  const [consent] = await sql<Consent[]>`
    select c.*, floor(extract(epoch from c.occurred_at))::float8 as seconds, p.language, p.country
    from (
      select ${columnNames(consentRecords)} from consent_records
      where property_id = ${property.id} and id = ${id} and player_id = ${playerId}
    ) c join players p on p.property_id = ${property.id} and p.id = c.player_id`;
  if (!consent) {
    throw new Fault("not_found", { message: `No consent record with the id ${id} of this player.` });
  }
  return consent;
}

function receiptOf({ property }: Context, consent: Consent): z.output<typeof Receipt> {
  const controller = property.legal_name ?? property.name;
  const refused = consent.action !== "granted";
  return {
    version: VERSION,
    jurisdiction: consent.jurisdiction ?? consent.country ?? property.default_country,
    consentTimestamp: consent.seconds,
    collectionMethod: consent.consent_source ?? consent.collection_method ?? "api",
    consentReceiptID: consent.id,
    ...(consent.language !== null && { language: consent.language }),
    piiPrincipalId: consent.player_id,
    piiControllers: [
      {
        piiController: controller,
        contact: controller,
        ...(property.postal_address !== null && { address: property.postal_address }),
        ...(property.from_email !== null && { email: property.from_email }),
      },
    ],
    policyUrl: property.privacy_policy_url ?? "",
    services: [
      {
        service: `${controller}: ${consent.purpose} by ${consent.channel}`,
        purposes: [
          {
            purpose: `${consent.purpose} by ${consent.channel}`,
            purposeCategory: ["8 - Marketing"],
            consentType: consent.consent_level === "implied" ? "IMPLICIT" : "EXPLICIT",
            piiCategory: [
              consent.channel === "email" ? "2 - Contact: email" : "2 - Contact: phone or device",
            ],
            primaryPurpose: true,
            termination: consent.expires_at ?? "Until it is revoked",
            thirdPartyDisclosure: false,
          },
        ],
      },
    ],
    sensitive: false,
    spiCat: [],
    event: {
      state: refused ? consent.action : "given",
      time: consent.occurred_at,
      ...(consent.consent_text !== null && { notice: consent.consent_text }),
      ...(consent.consent_text_sha256 !== null && { notice_sha256: consent.consent_text_sha256 }),
      ...(consent.consent_version !== null && { notice_version: consent.consent_version }),
      record_hash: consent.record_hash,
    },
  };
}
