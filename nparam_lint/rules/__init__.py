"""The rules: one file each, with what finds them in source. The catalogue lists them all."""
