-- Substring search reads its own property's entries only: without the property in the index, a rare pattern of a
-- small house costs as much as all other houses' players have of it.
create extension if not exists btree_gin;
drop index players_email_trgm;
drop index players_name_trgm;
drop index players_phone_trgm;
create index players_email_trgm on players using gin (property_id, email gin_trgm_ops);
create index players_name_trgm on players using gin (property_id, first_name gin_trgm_ops, last_name gin_trgm_ops);
create index players_phone_trgm on players using gin (property_id, phone gin_trgm_ops);
