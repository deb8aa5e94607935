-- An event ends the waits for it in its own transaction.
alter table journey_triggers drop constraint journey_triggers_kind_check;
alter table journey_triggers add constraint journey_triggers_kind_check
  check (kind in ('event', 'segment_enter', 'segment_exit', 'inbound_sms', 'game_play', 'wait'));
