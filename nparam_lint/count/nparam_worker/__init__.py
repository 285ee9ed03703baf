"""What `worker.py`, beside this package, is made of; its docstring is the contract of it all.

It is loaded under a name that no import statement can mean (`worker.NAME`), so that the project may
have modules of any name; hence all imports in here are relative. Each of these builds on those
above it alone:

places       where something lies: in the project, in the environment, in a copy
modules      which of the modules that are imported are the project's
failures     why something was not measured, in words
held         what a model may change for those that come after it in the same process
reads        what a count depends on
noting       notes it where it happens
guard        refuses to write, to connect and to start programs
scripts      what running a file would do, as its source tells
slices       runs a file in part
loader       loads the project's source
imports      imports the module of a job
devices      the ladder of devices on which models are built
varied       arguments that a call could have had instead
calls        calls what is to be counted
experts      what a token uses of a mixture of experts
counting     counts a model that was built
jobs         builds the model of one job, and has it counted
channel      what a process tells the one above it
children     processes that do one task each
supervision  runs tasks in processes of their own, and watches over them
groups       the jobs that share an import path, and the builders of their models
server       hands the jobs out, and passes the results on
main         the process, from its orders to its end
"""
