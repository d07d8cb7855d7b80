"""Types that type checkers and editors see in calls, as users write them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import farroot

PYTHON = Path(__file__).parents[1]


def checked(code: str, folder: Path) -> str:
    """mypy's output about a program, without the lines about notes that follow errors."""
    program = folder / "program.py"
    program.write_text(f"from pathlib import Path\nimport farroot\n{code}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", "/dev/null"),
            *("--ignore-missing-imports", "--follow-imports=silent"),
            *("--cache-dir", str(PYTHON / ".mypy_cache/users"), str(program)),
        ],
        cwd=PYTHON,
        capture_output=True,
        text=True,
        check=False,
    )
    return re.sub(r"\S*program\.py:", "", done.stdout)


RIGHT = """
tree = farroot.open("f.root:Events")
assert isinstance(tree, farroot.Tree)
reveal_type(farroot.open(Path("f.root")))
reveal_type(farroot.open("f.root"))
reveal_type(tree.arrays(["x"], "y > 1", library="np"))
reveal_type(tree.arrays(["x"], how=tuple))
reveal_type(tree.arrays(entry_stop=5, library="np", how=dict))
reveal_type(tree["x"].typename)
for batch in tree.iterate("x", step_size="10 MB", library="np", progress=True):
    pass
for step in farroot.iterate({"f.root": "Events"}, report=True):
    pass
with farroot.reporting() as report:
    print(report["requests"], farroot.config(memory="1 GB"))
farroot.copy("a.root", "b/", progress=lambda now: print(now.fraction))
"""


def test_right_programs_are_right_and_results_have_types(tmp_path: Path) -> None:
    told = checked(RIGHT, tmp_path)
    assert "error" not in told, told
    revealed = re.findall(r'Revealed type is "(.*)"', told)
    plain = [re.sub(r"[\w.]+\.(?=\w)", "", each) for each in revealed]
    opened, anything, by_name, in_order, by_dict, text = plain
    assert (opened, anything) == ("File", "File | Tree | RNTuple | Any")
    assert by_name.startswith("dict[str, ndarray[")
    assert (in_order, text) == ("tuple[Any, ...]", "str")
    assert by_dict == "dict[str, Any]"


def test_helpers_are_not_completed(made: Path) -> None:
    file = farroot.open(made)
    tree = file["events"]
    for one in (file, tree, tree["int32"]):
        listed = [name for name in dir(one) if not name.startswith("_")]
        assert not {"no_such", "leaf", "chosen", "decoder", "of_friend"} & {*listed}
        assert {"keys", "items"} <= {*listed}
        documented = [name for name in listed if getattr(type(one), name).__doc__]
        assert len(documented) > len(listed) // 2


@pytest.mark.parametrize(
    "wrong",
    [
        'farroot.chain("a").arrays(library="numpie")',
        'farroot.iterate("a", library="numpie")',
        'farroot.iterate("a", step_sise=3)',
        'farroot.concatenate("a", entry_stop="x")',
        "farroot.open(5)",
        'farroot.open("a", handler=None)',
        'farroot.open(Path("a")).evnts',
        'farroot.open(Path("a"))[0]',
        'farroot.copy("a", "b", progress=5)',
        "farroot.graphed_head",
    ],
)
def test_wrong_calls_are_told_before_they_run(wrong: str, tmp_path: Path) -> None:
    assert re.search(r"^3: error: ", checked(wrong + "\n", tmp_path), re.MULTILINE)
