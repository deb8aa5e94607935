-- The share of a campaign's audience that gets nothing, to compare the others with.

alter table campaigns add column holdout_percent int not null default 0 check (holdout_percent between 0 and 100);
