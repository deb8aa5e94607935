/** A property with the settings that every request in it needs. */
export interface Property {
  id: string;
  name: string;
  slug: string;
  legal_name: string | null;
  postal_address: string | null;
  timezone: string;
  default_country: string;
  privacy_policy_url: string | null;
  responsible_gaming_footer: string | null;
  min_age: number;
  email_consent_mode: "opt_in" | "opt_out";
  revocation_scope: "all_channels_phone" | "channel";
  /** Whether opens and clicks are counted. */
  tracking: "on" | "off";
  /** Whether agents see a preview of a call that reaches people or is irreversible. */
  agent_confirmation: "on" | "off";
  /** Percent by which an audience may grow after its approval. */
  approval_growth_percent: number;
  /** Players that calls of no person may reach in 24 hours; null: without limit. */
  approval_over_players: number | null;
  /** The cost of such calls in 24 hours; null: without limit. */
  approval_over_cost: number | null;
  /** On: nobody approves a proposal of their own, and people wait for approval too. */
  approval_four_eyes: "on" | "off";
  /** Personal data is masked for signed-in analysts. */
  mask_for_analysts: boolean;
  from_email: string | null;
  from_name: string | null;
  pepper: Buffer;
}

/** Whether an audience has grown by more than the property allows since its approval. */
export function hasOutgrown(property: Property, approved: number, present: number): boolean {
  return present > approved * (1 + property.approval_growth_percent / 100);
}
