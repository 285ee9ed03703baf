"""How far derivations, searches and sweeps go: all of their limits. What is beyond one is left out,
and said so."""

# --- time, in seconds -------------------------------------------------------------------------

SECONDS = 40.0  # for the forms of a model; what is not found by then is left out
LAST_SECONDS = 10.0  # of these, in which nothing more is begun
LEAST_SECONDS = 0.1  # of what is left
TRACED_SHARE = 0.5  # of the time for one model, in which it is built at several points

# --- the model and its arguments --------------------------------------------------------------

LARGE_MODEL = 128  # parameters; of a larger one a smaller version is built, if arguments allow it
FEW_LAYERS = 2  # layers, experts, … that it has then
DEEP = 32  # layers that are soon made
CASES = 16  # combinations of choices that are all derived
CHOICES_ALONE = 4  # choices that are changed one at a time, unless more were requested
VALUES_ALONE = 3  # values with which each variable is tried alone
SOURCE_NUMBERS = 40  # numbers of a source file that are tried
COMPARED_NUMBERS = 32  # numbers that one line compares with

# --- paths ------------------------------------------------------------------------------------

LEAVES = 40  # paths of which the forms are derived
ROUNDS = 12  # of building the other sides of what was met
RESTARTS = 8  # where another variable turns out to be lost
REPETITIONS = 12  # the most that something is repeated in a search
RANDOM = 2000  # points that are tried to meet conditions
NEAR = 64  # values around the base that are tried first
LISTED_VALUES = 4200  # up to where the values that meet conditions on one variable are listed
BOUNDARIES = 12  # calls for one model, on the sides of its conditions
BATCH = 96  # points that are asked for at once
JOBS_AT_ONCE, JOB_POINTS = 2, 6  # jobs of these, and how many points are worth a job

# --- fits -------------------------------------------------------------------------------------

FIT_POINTS = 5  # different points that a fit rests on
SPARE = 3  # points beyond the number of unknowns that a solution has to hold at
DEGREE = 4  # the highest total degree that is looked for
LEVELS = 64  # the most that anything doubles by
TERMS = 130  # unknowns of one system

# --- verification -----------------------------------------------------------------------------

VERIFIED = 6  # points at which the form of a path is verified
BASE_VERIFIED = 16  # the same, on the path of the call
PLAIN_BUILDS = 4  # places at which it is held against a plain build, beside literals
FURTHEST = 4  # times the base, of the values that a form is verified with
LINE = 9  # points along one lost variable
GRID, LARGE_GRID = 40, 12  # points in several: for each variable; of a large model
NEAREST = 4  # values of each variable in these, of a large model
LITERALS, FEW_LITERALS = 48, 12  # points at numbers of the source; on other paths than the call's
FURTHER = 11, 14, 19  # values of what was fitted, beyond those of the fit
DIGITS = 100, 1000, 10_000, 100_000  # values of what was made a text

# --- algebra ----------------------------------------------------------------------------------

DENOMINATOR = 1 << 40  # the largest one of what floats hold without rounding
POWER = 12  # the largest exponent that is multiplied out
SHIFT = 64
EXPONENT = 4096  # the largest number in one: more would only take memory

# --- arguments for a budget -------------------------------------------------------------------

SEARCH_SECONDS = 10  # for each budget
NEAR_BUDGET = 20  # it is met by what is off by a 20th of it, as `~10M` is by default
MOST_VALUE = 1 << 24  # the largest value of an unknown without a limit
BEYOND = 4  # times the budget: what is larger is not looked at
LEAST_VALUES = 128  # of an unknown, that are tried anyway: smaller ones may not be allowed
WIDE = 2  # times more or less than in the proportions of the call
FINE = 1 << 16  # steps between them and nothing
DOUBLED = 10  # times, or halved: where more need not give more
PASSIVE_VALUES = 4096  # of an unknown that only conditions are about
TENSORS = 20_000  # of the largest model that is built; one of a thousand layers has fewer
SPARE_SOLUTIONS = 3  # beyond those asked for: the model may refuse some
SOLUTION_ROUNDS = 4  # where it refuses more than that

# --- sweeps -----------------------------------------------------------------------------------

CHUNK = 2048  # configurations that are counted together
CHUNK_BUILDS = 32  # of which so many are built, at most: rows are written as they come
CHECKED, CHECKED_FIRST = 2, 8  # of those by form in a chunk, and in the first, are built too
