import { exampleId } from "./record-ids.ts";

const endpoint = { endpointId: exampleId("webhook_endpoints") };
const user = exampleId("users");
const proposal = { proposalId: exampleId("proposals") };

/** Inputs about imports, webhooks and the platform. */
export const PLATFORM_EXAMPLES = {
  create_import_job: {
    csv: "Club No,Email,Tier,Opt in\nP30001,lee.park@example.com,Gold,yes\n",
    mapping: { "Club No": "player_id", Email: "email", Tier: "tier", "Opt in": "consent.email" },
    consent: {
      consentSource: "players club",
      consentVersion: "2026-01",
      consentText: "I agree to receive offers from Demo Casino Resort.",
    },
  },
  list_import_errors: { id: exampleId("import_jobs"), limit: 20 },
  export_import_errors: { id: exampleId("import_jobs") },
  read_import_file: { upload_id: exampleId("uploads") },
  create_validation_job: { emails: ["ana.lopez@example.com", "nobody@@example"], level: "syntax" },
  list_validation_results: { id: exampleId("validation_jobs"), result: "undeliverable", limit: 20 },
  export_validation_results: { id: exampleId("validation_jobs") },
  create_webhook_endpoint: {
    url: "https://crm.example/hooks/player-marketing",
    events: ["player.created", "consent.revoked"],
  },
  update_webhook_endpoint: { id: exampleId("webhook_endpoints"), description: "The CRM" },
  test_webhook: endpoint,
  rotate_webhook_secret: { ...endpoint, overlapHours: 24 },
  replay_webhooks: { ...endpoint, since: "2026-01-01T00:00:00Z", status: "failed", dry_run: true },
  redeliver_webhook: { deliveryId: exampleId("webhook_deliveries") },
  approve_proposal: { ...proposal, shownHash: "the shown_hash of its preview" },
  preview_proposal: proposal,
  refuse_proposal: { ...proposal, reason: "Two campaigns go to these players this week already" },
  withdraw_proposal: proposal,
  create_property: { name: "River Casino", slug: "river", timezone: "America/Chicago", min_age: 21 },
  update_property: { help_text: "River Casino: call 1-800-555-0100." },
  create_api_key: { name: "crm", scopes: ["read", "write"], rate_limit: 1000 },
  revoke_api_key: { key_id: exampleId("api_keys"), dry_run: true },
  create_user: { email: "host@river.example", password: "a long sentence is a good one", name: "Host" },
  update_user: { user_id: user, name: "Demo Administrator" },
  grant_membership: { user_id: user, role: "manager" },
  revoke_membership: { user_id: user, dry_run: true },
  invite_member: { email: "mia@river.example", name: "Mia", role: "analyst" },
  set_member_role: { user_id: user, role: "admin" },
  remove_member: { user_id: user, dry_run: true },
  withdraw_invitation: { invitation_id: exampleId("invitations") },
  show_invitation: { token: "the one of the link in the mail" },
  accept_invitation: { token: "the one of the link in the mail", password: "a long sentence is a good one" },
  logout: { token: "the one that login has answered" },
  login: { email: "admin@demo.example", password: "the one that the first start has shown" },
  request_password_reset: { email: "admin@demo.example" },
  confirm_password_reset: {
    token: "the one of the link in the mail",
    password: "a long sentence is a good one",
  },
  verify_ledger: { ledger: "audit_logs" },
  list_platform_messages: { limit: 5 },
  list_platform_audit_logs: { limit: 5 },
  list_jobs: { state: "dead", limit: 5 },
  retry_job: { jobId: exampleId("queue"), dry_run: true },
  release_sending: { dry_run: true },
};
