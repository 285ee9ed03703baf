"""The worker: what runs in the project's own interpreter. `launch.py` says its contract.

The front end runs `launch.py` by path; it loads this package under a name that no import statement
can mean (`launch.NAME`), so that the project may have modules of any name; so all imports in it are
relative. Standard library and torch only, Python 3.9 syntax. Each imports those below it alone:

in_process   counts a model of the running process, for the Python API
processes    the server, its groups and their builders, and who watches over them
job          builds the model of one job, and has it counted
counting     counts a model that was built
building     imports what defines a model, and builds it on one device after the other
symbolic     runs constructors with numbers that carry their expression
tracing      records what a build reads and changes, and where things are
torch_compat the private parts of torch that are used, and why
state        what one process knows

The metrics, the names of the devices and the questions about paths are in `ground`, which the front
end reads too.
"""
