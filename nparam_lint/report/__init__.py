"""What a command says, as text: `document` is what is said, `formats` the ways to write it."""
