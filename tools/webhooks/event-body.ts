import { CURRENT_VERSION } from "#runtime/versions.ts";

/** An event as the outbox stores it. */
export interface StoredEvent {
  event_id: string;
  type: string;
  occurred_at: string;
  data: { object: Record<string, unknown>; previous?: Record<string, unknown> };
}

/** Fields that only an endpoint with include_pii gets, at any depth of the event. */
const PERSONAL = new Set([
  "email",
  "phone",
  "phone_e164",
  "first_name",
  "last_name",
  "full_name",
  "birth_date",
  "address",
  "address_line1",
  "address_line2",
  "street",
  "city",
  "postal_code",
  "recipient",
  "ip_address",
  "user_agent",
  "custom",
  // A value of the event that began the enrollment, which may be an address.
  "entry_key",
]);

const MOST_BYTES = 20_000;

/** The callback's body: the same text for each attempt, under 20 KB. */
export function eventBody(event: StoredEvent, propertyId: string, includePii: boolean): string {
  const { object, previous } = includePii ? event.data : thin(event.data);
  const whole = write(event, propertyId, { object, ...(previous && { previous }) });
  if (Buffer.byteLength(whole) < MOST_BYTES) return whole;
  return write(event, propertyId, { object: { id: object.id ?? null }, truncated: true });
}

/** An event's id in its form for receivers. */
export function eventId(id: string): string {
  return `evt_${id}`;
}

function write(event: StoredEvent, propertyId: string, data: object): string {
  return JSON.stringify({
    id: eventId(event.event_id),
    type: event.type,
    timestamp: new Date(event.occurred_at).toISOString(),
    api_version: CURRENT_VERSION,
    property_id: propertyId,
    data,
  });
}

function thin<T>(value: T): T {
  if (Array.isArray(value)) return value.map(thin) as T;
  if (typeof value !== "object" || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) if (!PERSONAL.has(name)) kept[name] = thin(inner);
  return kept as T;
}
