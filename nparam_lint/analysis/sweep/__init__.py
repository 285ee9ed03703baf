"""The counts of many configurations of one model, by closed form where one is proved."""
