-- The planner's statistics are samples of values: an erasure would leave names in them.
ALTER INDEX "users_name_idx" ALTER 1 SET STATISTICS 0;
