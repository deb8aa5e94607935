import { Fault } from "#runtime/faults.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { prepareDemo } from "#transports/start/demo/demo.ts";
import { startService, type TestService } from "../../support/service.ts";

export interface DemoService {
  service: TestService;
  /** The key and the admin's session, as headers. */
  asKey: Record<string, string | null>;
  asAdmin: Record<string, string | null>;
  propertyId: string;
  /** The state of a demo after its first minutes: a sent campaign, and a text that came in. */
  use(): Promise<void>;
}

export const NOBODY = { "X-Api-Key": null };

/** The intended refusals of examples in the demo: by operationId, the status and the reason. */
export const REFUSED: Readonly<Record<string, [number, string]>> = {
  restore_player: [409, "no player of the demo is deleted"],
  merge_players: [404, "the demo has one record of each person"],
  cancel_campaign: [409, "no campaign of the demo is under way"],
  pause_campaign: [409, "as to cancel"],
  resume_campaign: [409, "as to cancel"],
  unschedule_campaign: [409, "as to cancel"],
  archive_game: [409, "no game of the demo has ended"],
  delete_code_pool: [409, "the pool has codes"],
  delete_code_pool_matching: [409, "the pool has codes"],
  clear_tax_form: [409, "no prize of the demo needs a form"],
  redeem_prize: [404, "the code is shown at the claim alone"],
  delete_journey: [409, "the demo's journey is published"],
  delete_journey_matching: [409, "the demo's journey is published"],
  delete_import_job: [409, "the demo's import has ended"],
  read_import_file: [404, "no file of the demo waits to be imported"],
  delete_import_job_matching: [409, "the demo's import has ended"],
  delete_validation_job: [409, "the check has ended"],
  delete_validation_job_matching: [409, "the check has ended"],
  get_proposal: [404, "the demo's property has no limits, so nothing waits for approval"],
  preview_proposal: [404, "as to get one"],
  approve_proposal: [404, "as to get one"],
  refuse_proposal: [404, "as to get one"],
  withdraw_proposal: [404, "as to get one"],
  get_voice_call: [404, "the demo calls nobody before its draft is sent"],
  retry_job: [404, "no job of the demo has died"],
  release_sending: [409, "the demo's database is no copy of another one"],
  login: [401, "the password was shown once"],
  confirm_password_reset: [400, "the token stands in a mail"],
  show_invitation: [400, "the token stands in a mail"],
  accept_invitation: [400, "the token stands in a mail"],
  withdraw_invitation: [404, "the demo has invited nobody"],
  vendor_callback: [404, "only a vendor can sign one"],
};

/** Creates first, so that there is one of each, and removals last. */
export function turnOf(operationId: string): number {
  return /^create_/.test(operationId) ? 0 : /^(delete_|rotate_signing_key)/.test(operationId) ? 2 : 1;
}

/** The catalog of a slow machine: the thread that lays out mails is not there at the first template. */
function slow(catalog: Catalog): Catalog {
  const name = "create_template";
  const create = catalog.operations.get(name)!;
  let isReady = false;
  const handler: Operation["handler"] = async (context, input) => {
    if (isReady) return create.handler(context, input);
    isReady = true;
    throw new Fault("unavailable", { retryAfter: 0 });
  };
  return { ...catalog, operations: new Map(catalog.operations).set(name, { ...create, handler }) };
}

/** A service with the demo property of the first start. */
export async function startDemo(parts: Parameters<typeof startService>[1] = {}): Promise<DemoService> {
  const service = await startService({ demo: true }, parts);
  // The service of tests has a property already, and the demo is made where an interrupted one is.
  await service.database.db.asSystem(async (sql) => {
    await sql`delete from api_keys`;
    await sql`update properties set slug = 'demo'`;
  });
  const demo = await prepareDemo(service.internals, slow(CATALOG), service.idle);
  const { property, apiKey, campaignId, admin } = demo!;
  const { email, password } = admin!;
  const { body } = await service.post("/api/auth/login", { email, password }, NOBODY);
  return {
    service,
    asKey: { "X-Api-Key": apiKey },
    // An administrator of the platform has all properties, and names one.
    asAdmin: {
      "X-Api-Key": null,
      Authorization: `Bearer ${body.token}`,
      "X-Property-Id": property.id,
    },
    propertyId: property.id,
    use: async () => {
      const about = { propertyId: property.id };
      await service.call("send_campaign", { campaignId, ...about }, property.id);
      const text = { from: "+17025550177", text: "I'm at the bus stop" };
      await service.call("receive_sms", { ...text, ...about }, property.id);
      await service.idle();
    },
  };
}
