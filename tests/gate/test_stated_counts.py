"""Many counts that a repository states, and large files; more is on pages: stated_counts.md,
accused.md, wrong_for_certain.md and another_count.md."""

from model_source import TORCH, model_class
from sample_files import write_files


def test_of_many_the_first_are_shown_and_what_is_too_large_is_not_read(tmp_path, nparam_lint):
    text = "\n".join(f"GridNet has {n}k parameters.\n" for n in range(20, 32))
    files = {
        "nets.py": TORCH + model_class("GridNet", "self.fc = nn.Linear(9, 10)"),  # 100 parameters
        "README.md": text,
        "large.csv": "model,params\nGridNet,7M\n" + "x,1\n" * 1_500_000,
    }
    done = nparam_lint(cwd=write_files(tmp_path, files))
    assert done.stdout.count("GridNet has 100 parameters, stated: ") == 10
    assert "… and 2 more stated counts: nparam-lint claims" in done.stdout
