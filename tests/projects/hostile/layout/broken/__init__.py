from .bad import Bad
from .good import Net
