"""Words by which code is told apart where nothing else says what it is: what holds sizes, what is a
script's work, which files are tests, what is a file of weights. All of them, for both interpreters:
the front end reads source by them, and the worker runs files in part."""

import re

from .patterns import late_pattern

# --- what holds the sizes of a model ----------------------------------------------------------

CONFIG_PARAMETER = late_pattern(r"conf|cfg|args|hparam|param|dims|settings|opt", re.IGNORECASE)
CONFIG_CLASS = late_pattern(r"\w*(Config|Cfg|Args|Arguments|Settings|HParams|Hparams|Options)$")
# The parsed options of a script, and an option that names a config file.
OPTIONS = late_pattern(r"(args?|opts?|options|configs?|cfg|conf|hparams|params)$")
CONFIG_OPTION = late_pattern(
    r"-*(cfg|config|conf|opt|yaml|hparams|params|configuration|settings|exp_file)"
    r"([_-]?(file|path|name|filename|yaml))?$|-*(model|base|net)[_-](config|cfg)([_-](file|path))?$"
)
# Of what reads the words of its command without a parser.
READS_WORDS = late_pattern(r"\bsys\.argv\b|\bfrom_cli\(\)")
# Settings of a run: a model does not depend on them.
# An option, of which no model is another by another value.
SEED = late_pattern(r"(?:\w+[_-])?seed")
RUN_SETTING = late_pattern(
    r"(?i)(?!(\w*_)?(model|net(work)?|arch|backbone|encoder)_name$)"
    r"\w*(lr|rank|world|gpus?|device|seed|dist\w*|output|dir|path|log\w*|batch_?size|workers?|"
    r"steps?|epochs?|time|name|resume|tag|verbose|debug|quiet|amp|fp16|bf16)$"
)
# Calls of what has a model's name as an argument, or is looked up by it.
LOOK_UPS = [rf"{verb}_?(?:model|net\w*)\(" for verb in ("create", "get", "build", "make")]
# nets[args.net](, modules[args.net].Net(, nets[args.net].build_model(, get_module(args).Net(
IN_TABLE = r"[\w})]\[\w+(?:\.\w+)+\](?:\.(?:[A-Z]|(?:build|make|create|from)_)\w*)?\("
IN_TABLE += r"|\w\([\w.]*\)\.[A-Z]\w*\("
LOOK_UPS += [r"__dict__\[[^\]]*\]\(", r"getattr\(\w+,[^()]*\)\(", r"\beval\([^()]*\)\("]
# A value that is looked up so, and called later: `Model = eval(args.model)`.
LOOKED_UP_VALUE = (
    r"^[ \t]*(\w+) *= *(?:eval\([^()\n]*\)|globals\(\)\[[^\n]+\]|getattr\([\w.]+, *[^()\n]+\)|"
    r"[\w.]+\.__dict__\[[\w.]+\]|"
    r"(?:\w+|\{[^{}]*\})(?:\[\w+(?:\.\w+)+\]|\.get\(\w+(?:\.\w+)+[^()\n]*\)))[ \t]*$"
)

# --- which files ------------------------------------------------------------------------------

SCRIPT_FILE = late_pattern(r"(train|main|run|demo|exp|eval|test|finetune|predict|infer)\w*\.py$")
TEST_FILE = late_pattern(
    r"(^|/)(tests?|testing|conftest\.py$)(/|$)|(?P<by_name>(^|/)(test_[^/]*|[^/]*_test)\.py$)"
)
# Scripts that take up what another has trained.
LATER_SCRIPT = late_pattern(
    r"(^|/)(eval|test|infer|predict|demo|visual|export|convert|generate|sample|finetune)[^/]*\.py$"
)
# Arguments of models that data sets decide, with defaults of the usual ones.
SIZE_OF_DATA = late_pattern(r"(nc|(num|n)_?(class|token|label)(es|s)?|vocab_?size)$")
DATA_FILE = late_pattern(r"(^|/)(\w*datasets?|data|\w*loaders?|data_\w+)(/|\.py$)")

# --- weights ----------------------------------------------------------------------------------

_WEIGHTS = "pth|pt|bin|safetensors|ckpt|npz|h5|onnx|tar|pkl|zip"
WEIGHTS_URL = late_pattern(rf"\.({_WEIGHTS})(\.\w+)?([?#]|$)")
# A file of weights, or a name that libraries have for some to download.
WEIGHTS_VALUE = late_pattern(
    rf"[\w./ -]*\.({_WEIGHTS})$|(IMAGENET|COCO)\w*_V\d$|DEFAULT$|\w+_Weights\.\w+$|imagenet$"
)
WEIGHTS_KEY = late_pattern(r"(ckpt|checkpoint|pretrained|weights?|resume)(_?(path|file|from))?$")
# Arguments that say whether weights are wanted, or which; and one that is true or false.
WEIGHTS_WISH = late_pattern(
    r"(^|_)(pretrained|weights)(_|$)|^(load|download)(_|$)|^(ckpt|checkpoint)(_|$)"
)
WEIGHTS_SWITCH = late_pattern(r"(\w+_)?pretrained(_\w+)?$")
LOADS_WEIGHTS = late_pattern(
    r"(?i)from_pretrained|load_state_dict|load_url|hub|download|urlopen|load_weights|load_pretrained"
    r"|load_checkpoint|torch\.load|load_file|load_model|(^|\.)open$"
)

# --- a script's work --------------------------------------------------------------------------

_OF_DATA = "data_?(set|loader|module)|loader$|tokenizer|vocab|corpus"
OF_DATA = late_pattern(_OF_DATA, re.IGNORECASE)
# What reads a config. Of Python and of libraries, which is read as the script does it:
READS_CONFIG = late_pattern(
    r"^(open|(yaml|json|toml|tomllib)\.(safe_|full_)?loads?|OmegaConf\.load|(f\w*|file)\.read)$"
)
# a function of the project, by its name, which may put it into an object that it gets;
_CONFIG = "config|cfg|conf|yaml|json|toml|hparams|hyper_?params?|args|opts|options|settings"
_LOADS_CONFIG = rf"(load|read)_?({_CONFIG})(_file)?$"
LOADS_CONFIG = late_pattern(rf"(^|\.)_*{_LOADS_CONFIG}")
# and any call that may, these among them, in a script that is known to read one.
MAY_READ_CONFIG = late_pattern(
    r"(?i)(^|\.)((safe_|full_|unsafe_)?load|loads|open|read|read_text|fromfile|merge_from_file|"
    rf"\w*({_CONFIG}|option|args|params|settings)\w*)$"
)
_PARTS = r"\.(named_)?(children|modules|parameters|buffers)$"
PARTS_OF_MODEL = late_pattern(_PARTS)
# What reads data, talks to the world or does a script's work, by its whole name: no call of it is
# run for the arguments of a model.
WORK = late_pattern(
    rf"(^|\.)_*(?!{_LOADS_CONFIG})"
    r"(load|open|download|fetch|read|write|save|dump|fit|train|test|eval|run|main|"
    r"sleep|show|system|popen|spawn|glob|walk|init_process_group|initialize(?!_(?:model|net))|compose)s?($|_)"
    r"|(^|\.)(exec|eval|input|exit|quit|step|backward|makedirs|mkdir|remove|rmtree|listdir|unlink|"
    r"chdir|from_pretrained|fromfile|imread|urlopen|get_data|set_start_method)$"
    rf"|{_PARTS}|\.state_dict$"  # what a model has
    r"|(^|\.)(wandb|subprocess|hub|distributed|cv2|datasets|multiprocessing(?!\.cpu_count$))\.|(^|\.)jit\.trace"
    rf"|(?i:{_OF_DATA}|from_pretrained)"
)
# The same of a file that is run as a whole: functions of its own, methods of anything, and others.
# There, a wrong answer does no harm.
WORK_FUNCTION = late_pattern(
    r"^_*(main|run|train|test|eval|evaluate|demo|cli|app|start|launch|fit|bench|benchmark|profile|"
    r"export|convert|plot|show|process|experiment|generate|sample|predict|infer|inference)($|_)"
)
WORK_METHODS = frozenset(
    "backward step zero_grad fit train eval item init_process_group show savefig imshow sleep "
    "Fire serve launch mainloop run".split()
)
WORK_NAMES = frozenset(
    "input exec exit quit tqdm trange DataLoader load_dataset sys.exit torch.save wandb.init "
    "torch.load unittest.main".split()
)
# What sets the values of `cfg` in its own file, as Fast R-CNN and what descends from it have it.
SETS_CONFIG = late_pattern(r"^((merge_|update_)?(cfg|config)_from_(file|list|yaml|yaml_file))$")
# What a script calls to fill a config object that other files read.
FILLS_CONFIG = late_pattern(
    r"(?:^|\.)(?:merge_from_\w+|\w*_from_file|(?:load|update)_(?:config|cfg))$"
)
SETS_VARIABLE = late_pattern(r"(^|\.)environ\.(setdefault|update)$|^os\.putenv$")
WITH_CHANGES = "with_changes"  # the function of a recipe that does what a script does to a model
# What torchrun says to the only process that it starts.
LAUNCHED = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
LAUNCHED.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"})
MADE_BY_SCRIPT = "made_by_script"  # that of one for which a whole script is run
FAILS_HERE = "which fails here"  # ends a note of that
FIRST_OF = "the first of several"  # begins another
REGISTERS = late_pattern(r"(^|[._])register", re.IGNORECASE)

# --- what only makes a value ------------------------------------------------------------------

PLAIN_FUNCTIONS = frozenset(
    "int float str bool len range dict list set tuple frozenset min max sum sorted zip enumerate "
    "abs round isinstance issubclass hasattr getattr setattr repr reversed map filter any all type "
    "print globals vars dir callable hash id ord chr".split()
)
# Of the slice for one call; and of a file that is run in part.
SLICE_FUNCTIONS = PLAIN_FUNCTIONS.union("next iter slice divmod pow super __import__".split())
FILE_FUNCTIONS = PLAIN_FUNCTIONS.union(
    "open Path PosixPath partial namedtuple defaultdict OrderedDict Counter deque TypeVar NewType "
    "ParamSpec field device dtype getLogger delattr".split()
)
PLAIN_MODULES = frozenset(
    "math os sys re ast argparse collections functools itertools operator typing dataclasses copy "
    "enum configparser string pathlib np numpy torch th platform omegaconf easydict json".split()
)
SLICE_MODULES = PLAIN_MODULES.union(
    "absl types torchvision timm yacs addict munch ml_collections transformers diffusers einops "
    "box random datetime importlib configargparse hydra nn F torch_geometric monai mup gym "
    "gymnasium time multiprocessing".split()
)
FILE_MODULES = PLAIN_MODULES.union("logging warnings t yaml toml tomllib OmegaConf".split())
TEXT_METHODS = frozenset("format join split strip lower upper replace startswith endswith".split())
READING_METHODS = TEXT_METHODS.union(
    "get keys values items copy index exists read read_text is_available device_count resolve "
    "parse_args parse_known_args".split()
)
PLAIN_METHODS = READING_METHODS.union(
    "append extend add update insert setdefault add_argument add_argument_group "
    "add_mutually_exclusive_group set_defaults setLevel addHandler pop".split()
)
UNSAFE_METHODS = frozenset(
    "_exit abort fork forkpty killpg load save memmap fromfile system execv chdir exit kill".split()
)
# Methods that change the object they belong to, and nothing else.
MUTATES = late_pattern(r"(pop|popitem|setdefault|update|append|extend|insert|remove|clear)$")
CHANGES = late_pattern(
    r"(append|extend|insert|update|setdefault|pop|add|remove|clear|sort|add_(\w+_)?arguments?|"
    r"add_argument_group|add_mutually_exclusive_group|set_defaults|set_\w+|__setattr__|merge_\w+|"
    r"override\w*|defrost|replace|parse(_json)?|read(_file|_string|_dict)?)$"
)
