"""Names models of timm and transformers, as "MODULE::EXPRESSION"; a JSON list on standard output.

    python candidates.py timm|transformers COUNT

Runs in the interpreter that has them. COUNT of timm's names, or of the base models of transformers
(one for each architecture, with its default config), evenly spread; 0: all of them.
"""

import json
import sys


def of_timm():
    import timm

    return [f"timm::create_model({name!r})" for name in timm.list_models()]


def of_transformers():
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    pairs = {}
    for kind, models in MODEL_MAPPING_NAMES.items():
        if kind in CONFIG_MAPPING_NAMES:
            for model in [models] if isinstance(models, str) else models:
                pairs.setdefault(model, CONFIG_MAPPING_NAMES[kind])
    return [f"transformers::{model}({config}())" for model, config in sorted(pairs.items())]


def main():
    names = {"timm": of_timm, "transformers": of_transformers}[sys.argv[1]]()
    count = min(int(sys.argv[2]), len(names)) or len(names)
    json.dump([names[i * len(names) // count] for i in range(count)], sys.stdout)


if __name__ == "__main__":
    main()
