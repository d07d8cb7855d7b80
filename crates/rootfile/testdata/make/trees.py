"""Makes the small files of this folder: `python trees.py FOLDER`.

Needs ROOT and uproot. MANIFEST.toml has the purpose of each file.
"""

import array
import pathlib
import shutil
import sys

import numpy
import ROOT
import uproot


class Filler:
    """Numbers, an array, a counted array, a string and a leaf list."""

    def __init__(self, tree):
        self.tree, self.entry = tree, 0
        self.number, self.count = array.array("i", [0]), array.array("i", [0])
        self.fixed, self.counted = array.array("f", 6 * [0]), array.array("d", 8 * [0])
        self.pair = array.array("h", [0, 0])
        self.names = ROOT.std.vector("string")()
        size = 400
        tree.Branch("number", self.number, "number/I", size)
        tree.Branch("fixed", self.fixed, "fixed[2][3]/F", size)
        tree.Branch("count", self.count, "count/I", size)
        tree.Branch("counted", self.counted, "counted[count]/D", size)
        tree.Branch("pair", self.pair, "first/S:second/s", size)
        tree.Branch("names", self.names, size)

    def fill(self, entries):
        for entry in range(self.entry, self.entry + entries):
            self.number[0] = entry
            self.count[0] = entry % 5
            for i in range(6):
                self.fixed[i] = entry + i / 8
            for i in range(self.count[0]):
                self.counted[i] = entry * 10 + i
            self.pair[0], self.pair[1] = -entry, entry
            self.names.clear()
            for i in range(entry % 3):
                self.names.push_back("x" * i + str(entry))
            self.tree.Fill()
        self.entry += entries


def clustered(path):
    """Two cycles of a tree, clusters of two sizes, aliases, an object beside the data, a tree in a directory."""
    file = ROOT.TFile(str(path), "RECREATE", "clusters")
    tree = ROOT.TTree("events", "clusters of 10, then of 25")
    tree.SetAlias("twice", "number * 2")
    run = ROOT.TParameter("int")("run", 42)
    ROOT.SetOwnership(run, False)
    tree.GetUserInfo().Add(run)
    tree.SetAutoFlush(10)
    filler = Filler(tree)
    filler.fill(40)
    tree.Write()
    tree.SetAutoFlush(25)
    filler.fill(60)
    tree.Write()
    file.mkdir("outer").mkdir("inner").cd()
    small = ROOT.TNtuple("small", "in a directory", "x:y")
    small.Fill(1, 2)
    small.Write()
    file.Close()


def saved(path):
    """A tree saved while it was filled: its last baskets are inside of it."""
    growing = path.with_suffix(".growing")
    file = ROOT.TFile(str(growing), "RECREATE")
    tree = ROOT.TTree("events", "saved without a flush")
    tree.SetAutoFlush(0)
    Filler(tree).fill(100)
    tree.AutoSave("SaveSelf")
    shutil.copyfile(growing, path)
    file.Close()
    growing.unlink()


def unclosed(path):
    """A file whose writer died: trees that were saved meanwhile, and no list of keys."""
    growing = path.with_suffix(".growing")
    file = ROOT.TFile(str(growing), "RECREATE")
    tree = ROOT.TTree("events", "saved, then filled on")
    filler = Filler(tree)
    filler.fill(40)
    tree.AutoSave()
    filler.fill(60)
    tree.AutoSave()
    file.mkdir("outer").cd()
    small = ROOT.TNtuple("small", "in a directory", "x:y")
    small.Fill(1, 2)
    small.AutoSave()
    filler.fill(100)
    tree.FlushBaskets()
    file.Flush()
    shutil.copyfile(growing, path)
    file.Close()
    growing.unlink()


def plain(path):
    """A tree that is not compressed, so that wrong bytes reach its reader."""
    file = ROOT.TFile(str(path), "RECREATE", "", 0)
    tree = ROOT.TTree("events", "not compressed")
    tree.SetAlias("twice", "number * 2")
    Filler(tree).fill(20)
    tree.Write()
    file.Close()


def friends(path, other):
    """A tree with friends: one in its own file, and in another file one by entry and one by index."""
    run, event, weight = (array.array(code, [0]) for code in "iid")

    def tree(name, title):
        made = ROOT.TTree(name, title)
        made.Branch("run", run, "run/I", 200)
        made.Branch("event", event, "event/I", 200)
        return made

    def fill(made, entries):
        for entry in entries:
            run[0], event[0], weight[0] = entry // 10, 100 + entry, entry / 4
            made.Fill()

    file = ROOT.TFile(str(other), "RECREATE")
    aligned = tree("aligned", "of the same entries")
    aligned.Branch("weight", weight, "weight/D", 200)
    fill(aligned, range(60))
    aligned.Write()
    indexed = tree("indexed", "every other entry, backwards")
    indexed.Branch("weight", weight, "weight/D", 200)
    fill(indexed, range(58, -1, -2))
    indexed.BuildIndex("run", "event")
    indexed.Write()
    file.Close()
    file = ROOT.TFile(str(path), "RECREATE")
    beside = tree("beside", "in the same file")
    fill(beside, range(60))
    beside.Write()
    events = tree("events", "has friends")
    fill(events, range(60))
    events.BuildIndex("run", "event")
    events.AddFriend("beside", "")
    for name in ("a = aligned", "i = indexed"):
        events.AddFriend(name, str(other))
        # Both files may be moved together.
        events.GetListOfFriends().Last().SetTitle(other.name)
    events.Write()
    file.Close()


def by_uproot(path):
    with uproot.recreate(path) as file:
        numbers = numpy.arange(10, dtype=numpy.float32)
        file.mktree("events", {"x": "f4", "y": "i8"})
        file["events"].extend({"x": numbers, "y": numbers.astype(numpy.int64) ** 2})


def main():
    folder = pathlib.Path(sys.argv[1])
    clustered(folder / "clustered.root")
    saved(folder / "saved.root")
    unclosed(folder / "unclosed.root")
    plain(folder / "plain.root")
    friends(folder / "friends.root", folder / "friends_other.root")
    by_uproot(folder / "by_uproot.root")


if __name__ == "__main__":
    main()
