WIDTH = 3

while True:
    pass
