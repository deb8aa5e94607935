/** The channels that campaigns and templates are written for. */
export const MESSAGE_CHANNELS = ["email", "sms", "voice", "push", "inbox", "loyaltyvip"] as const;
