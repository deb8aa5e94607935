-- What delivering and auditing write most of: messages, events and audit rows are written under a tenant's role only,
-- which is a property's. Asking again for each row cost as much as an index.
alter table mailbox_messages drop constraint mailbox_messages_property_id_fkey;
alter table outbox drop constraint outbox_property_id_fkey;
alter table audit_logs drop constraint audit_logs_property_id_fkey;

-- Also where the table is large: of a property that the statistics do not know, the planner expects one row, and then
-- any index is as good as another.
create or replace function analyze_sends() returns void language plpgsql security definer
  set search_path = public, pg_temp
  as $$
begin
  analyze campaign_sends (property_id, id, campaign_id, player_id, address_hash, status, claimed_by, scheduled_for);
exception when lock_not_available then null;
end $$;
drop function analyze_sends(int);
revoke execute on function analyze_sends() from public;
grant execute on function analyze_sends() to app_property;
