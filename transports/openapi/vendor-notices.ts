import { exampleId } from "#transports/examples/record-ids.ts";

/** The body of a vendor's notice by its content type: SendGrid's, Twilio's, and Amazon's without its signature. */
export const NOTICE_EXAMPLES = {
  "application/json": [
    {
      event: "delivered",
      send_id: exampleId("campaign_sends"),
      sg_event_id: "ZGVsaXZlcmVkLTAtMTIzNDU2Nzg",
      sg_message_id: "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
      timestamp: 1780650000,
    },
  ],
  "application/x-www-form-urlencoded": {
    Body: "STOP",
    From: "+17025550199",
    MessageSid: "SM00000000000000000000000000000001",
    To: "+17025550100",
  },
  "text/plain": JSON.stringify({
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: "arn:aws:sns:us-east-1:123456789012:feedback",
    Message: JSON.stringify({
      eventType: "Delivery",
      mail: { messageId: "0100018f", tags: { send_id: [exampleId("campaign_sends")] } },
      delivery: { timestamp: "2026-06-05T10:00:00.000Z" },
    }),
    Timestamp: "2026-06-05T10:00:00.000Z",
    SignatureVersion: "2",
  }),
} as const;
