"""The state of one process of the worker: the only object whose state outlives a call.

The server fills it from its orders, a group when it begins to import; a forked process starts with
what the one above it has. It is not passed along but reached as `STATE`: most of those that need it
are hooks (of imports, of audit events, of torch) whose arguments are not ours to choose.
"""

import os
import sys
import tempfile

# The settings of a run that has no project.
NOWHERE = {"root": "", "names": (), "temporary": "", "snapshot": None, "places": ()}


class State:
    """Where things are, what is being imported or built, and what was found out on the way."""

    def __init__(self):
        self.record = None  # DependencyRecord of this process
        self.packages = ()  # directories in which packages are installed
        # Their versions tell enough of what is in the standard library and in torch.
        self.library, self.torch_directory = "", ""
        self.above = frozenset()  # directories that are there for certain
        # The audit hook refuses writes; it cannot be taken off again.
        self.is_guarded = False
        self.is_kernel_guarded = False  # nor can what the kernel refuses be allowed again
        self.has_own_memory = False  # a /dev/shm that nobody else sees
        self.guards = ["audit hook"]  # that are on, in words: the kernel's come when they are
        self.unguarded = []  # what the kernel offers and then refused, in words
        self.skips_initialisers = False  # `torch.nn.init.*_` do nothing
        self.gpu = None  # the Gpu as whose machine this one answers
        # What was asked of CUDA -> the line that asked first: while files were imported (or models
        # built before), and by the model.
        self.gpu_import_questions, self.gpu_questions = {}, {}
        self.begin_run(NOWHERE, worker="")
        self.begin_group(False, (), {}, None)

    def begin_run(self, settings, worker):
        """Take the paths of a run from its orders, and reset the state of the run before. `worker`:
        the directory of our code, with a separator at its end."""
        self.root = os.path.realpath(settings["root"]) if settings["root"] else ""
        self.names = frozenset(settings["names"])  # of files and directories that can be imported
        # The one place where writing is allowed.
        self.temporary = os.path.realpath(settings["temporary"]) if settings["temporary"] else ""
        tempfile.tempdir = self.temporary or None
        # Where `root` lies in a copy of what git has: the top of the copy, that of the working tree
        # that it was made of, what in it is a link into the tree, and the files that git lacks.
        self.copy, self.original, self.linked, self.untracked = "", "", (), ()
        snapshot = settings["snapshot"]
        if snapshot:
            self.copy = os.path.realpath(snapshot["copy"])
            self.original = os.path.realpath(snapshot["original"])
            links = [os.path.join(self.original, path) for path in snapshot["linked"]]
            self.linked = tuple(path + os.sep if os.path.isdir(path) else path for path in links)
            self.untracked = tuple(snapshot["untracked"])
        # (name, directory) of what is elsewhere on another machine, the innermost first; "": what
        # is told as relative to the root.
        tops = (self.root, self.copy or settings.get("top"), self.original)
        places = [*(("", top) for top in tops if top), *map(tuple, settings["places"])]
        self.places = sorted(places, key=lambda place: -len(place[1]))
        below = tuple(top + os.sep for top in (self.root, self.original) if top)
        prefixes = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
        foreign = (*(prefix + os.sep for prefix in prefixes), worker)
        # Environments inside the project, and ourselves: not the project's code.
        self.environments = tuple(path for path in foreign if path.startswith(below))
        # What was found out of paths and modules: asked for every frame above a new module.
        self.real_folders = {}  # directory -> where it is, behind links
        self.file_kinds = {}  # file of a frame -> what it belongs to
        self.running = []  # files of the project that are being run, the innermost last
        self.script_run = None  # the ScriptRun that is under way
        self.branch = None  # the id of a process that was forked to answer for one of its models
        self.partial_files = {}  # path -> PartialFile of every file that was run in part
        self.placeholders = {}  # dotted name of what is not installed -> what stands for it
        self.definitions = {}  # id of a class or function -> (it, path and line of its definition)
        self.begin_model()

    def begin_group(self, tolerates_imports, suspects, barred, on_running):
        """Before the project's modules are imported. `tolerates_imports`: every way to import a
        file has failed, so that it is run without the imports that fail; `suspects`, `barred`: see
        `lifecycle.Files`; `on_running`: a function that gets the file that is being run, or
        None."""
        self.tolerates_imports, self.on_running = tolerates_imports, on_running
        self.suspects, self.barred = suspects, barred

    def begin_model(self, inputs=None):
        """Before a model is built. `inputs`: an InputLog of what its build reads."""
        if self.record is not None:
            self.record.model_inputs = inputs
        self.gpu_import_questions.update(self.gpu_questions)
        self.gpu_questions = {}
        self.refusals = []  # what the guard refused, in words
        self.refused = None  # the error of the first placeholder of which a value was needed
        self.is_seeded = False  # whether a script that is run has seeded its random numbers
        self.read_values = False  # whether the build has read a value of a tensor
        self.shrank = (
            False  # whether it read a tensor that is not initialised, or made a small one of it
        )
        self.saw_meta = None  # the line of the project that could tell that it is built on meta
        self.constructions = None  # id of a module -> its Construction, while one is built
        self.origins = None  # the OriginLines of its parts, meanwhile
        self.keeps_arguments = False  # whether they hold the arguments, too
        self.own_classes = {}  # id of a class -> its OwnClass
        self.trace = None  # the Recorder, while a model is built with traced numbers
        self.signatures = {}  # id of a constructor's code -> its Signature


STATE = State()
