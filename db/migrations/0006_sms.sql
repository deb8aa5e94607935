-- Text messages: how many segments each is paid for as, and what a property's texts say of opting out.

alter table campaign_sends add column segments int;
alter table properties add column sms_opt_out_text text not null default 'Reply STOP to opt out';
