"""What the commands of `analysis` found, as documents for `report` to write in any format."""
