from pkg import Net as Renamed


class Twice(Renamed):
    """nparam: 24"""

    def __init__(self):
        super().__init__()
        self.two = Renamed()
