-- Callbacks are kept for thirty days: the sweep may find what is old, not read what it said, and remove it.
create policy platform on outbox to app_system using (true);
create policy platform on webhook_deliveries to app_system using (true);
grant select (property_id, id, occurred_at), delete on outbox to app_system;
grant select (property_id, id, event_id, status, created_at, updated_at), delete on webhook_deliveries to app_system;
