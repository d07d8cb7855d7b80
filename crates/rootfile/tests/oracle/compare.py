"""Compares the output of `examples/dump_tree.rs` for files with that of uproot.

usage: compare.py DUMP_TREE FILE...
"""

import json
import subprocess
import sys

import uproot


def text(value):
    """As Rust replaces bytes that are not UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


REFUSED = "uproot can't read this"


def baskets(branch):
    """Entries and, for those in the file, the range of each basket, in the order of entries."""
    try:
        return list(baskets_understood(branch))
    except uproot.deserialization.DeserializationError:
        return REFUSED


def baskets_understood(branch):
    start = 0
    for i in range(branch.num_baskets):
        if i < branch._num_normal_baskets:
            seek = int(branch.member("fBasketSeek")[i])
            place = [seek, seek + int(branch.member("fBasketBytes")[i])]
        else:
            place = []
        stop = branch.entry_offsets[i + 1]
        if stop > start:
            yield [int(start), int(stop), *place]
        start = stop


def leaves(branch):
    for leaf in branch.member("fLeaves"):
        count = leaf.member("fLeafCount", none_if_missing=True)
        yield [
            text(leaf.member("fName")),
            text(leaf.member("fTitle")),
            max(0, int(leaf.member("fLen"))),
            int(leaf.member("fLenType")),
            bool(leaf.member("fIsUnsigned")),
            None if count is None else text(count.member("fName")),
        ]


def branches(tree):
    ids = {}
    for branch in tree.itervalues(recursive=True):
        ids[branch.cursor.index] = len(ids)
        count = branch.member("fBranchCount", none_if_missing=True)
        parent = branch.parent
        yield {
            "name": text(branch.member("fName")),
            "title": text(branch.member("fTitle")),
            "parent": ids[parent.cursor.index] if parent is not tree else None,
            "class": branch.classname,
            "entries": int(branch.member("fEntries")),
            "compress": int(branch.member("fCompress")),
            "entry_offset_len": int(branch.member("fEntryOffsetLen")),
            # uproot drops references to a branch that it has not finished, such as a parent.
            "count": REFUSED if count is None else text(count.member("fName")),
            "leaves": list(leaves(branch)),
            "baskets": baskets(branch),
        }


def expected(tree):
    aliases = tree.member("fAliases", none_if_missing=True) or []
    return {
        "name": text(tree.member("fName")),
        "title": text(tree.member("fTitle")),
        "entries": int(tree.member("fEntries")),
        "aliases": [[text(a.member("fName")), text(a.member("fTitle"))] for a in aliases],
        "branches": list(branches(tree)),
    }


def differences(path, said, truth):
    if isinstance(truth, dict) and isinstance(said, dict):
        for key in truth:
            yield from differences(f"{path}/{key}", said.get(key), truth[key])
    elif isinstance(truth, list) and isinstance(said, list) and len(said) == len(truth):
        for i, (one, other) in enumerate(zip(said, truth)):
            yield from differences(f"{path}[{i}]", one, other)
    elif said != truth and truth != REFUSED:
        yield f"{path}: {str(said)[:200]} is not {str(truth)[:200]}"


def compare(dump_tree, path):
    """Prints each difference; gives how many trees were compared and how many differences found."""
    run = subprocess.run([dump_tree, path], capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{path}: {run.stderr.strip()}")
        return 0, 1
    said = json.loads(run.stdout)
    found = []
    with uproot.open(path) as file:
        classes = {text(k): v for k, v in file.classnames(recursive=True, cycle=True).items()}
        found += differences("keys", dict(said["keys"]), classes)
        trees = 0
        for name, class_name in classes.items():
            if class_name.startswith(("TTree", "TNtuple")):
                trees += 1
                tree = said["trees"].get(name, {})
                found += differences(name, tree, expected(file[name]))
    for difference in found[:20]:
        print(f"{path}: {difference}")
    return trees, len(found)


def main():
    dump_tree, *paths = sys.argv[1:]
    results = [compare(dump_tree, path) for path in paths]
    trees, wrong = (sum(column) for column in zip(*results))
    print(f"{len(paths)} files, {trees} trees, {wrong} differences")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
