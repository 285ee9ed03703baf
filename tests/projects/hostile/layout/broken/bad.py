class Bad:
    def (self):
