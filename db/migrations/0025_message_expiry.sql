-- How long after a campaign's start its messages may still go out.

alter table campaigns add column expires_after_hours int not null default 72
  check (expires_after_hours between 1 and 72);
