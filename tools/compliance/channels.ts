/** The channels that a player consents to, or refuses, one by one. */
export const CHANNELS = ["sms", "email", "voice", "push"] as const;
export type Channel = (typeof CHANNELS)[number];
