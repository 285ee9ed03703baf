"""The check itself, stage by stage: discover, declare, count, judge, report."""
