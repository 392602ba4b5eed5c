-- The planner's statistics are samples of values: a deletion would leave names in them.
ALTER INDEX "attendees_label_idx" ALTER 3 SET STATISTICS 0;
