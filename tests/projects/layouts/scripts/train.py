import argparse

from nets import Base

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
options = parser.parse_args()


class Heir(Base):
    """nparam: 30"""


for line in open(options.data):
    print(line)
