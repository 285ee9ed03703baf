import sys

for arg in sys.argv[1:]:
    key, value = arg.split("=")
    globals()[key] = int(value)
