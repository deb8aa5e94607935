-- A key whose agents are shown no whole address, name or birth date.
alter table api_keys add column pii_masked boolean not null default false;
