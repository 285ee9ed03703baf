"""What earlier runs found out, in the cache directory of the user: without it a run gives the same
answers, only later."""
