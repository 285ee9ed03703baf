ADD = 1
