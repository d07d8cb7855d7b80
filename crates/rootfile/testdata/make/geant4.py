"""Makes by_geant4.root with Geant4's analysis manager, which has a writer of its own.

Needs geant4-pybind. MANIFEST.toml has the purpose of the file.
"""

import sys
from pathlib import Path

from geant4_pybind import G4AnalysisManager

ENTRIES = 60


def by_geant4(path: Path) -> None:
    manager = G4AnalysisManager.Instance()
    manager.SetDefaultFileType("root")
    manager.OpenFile(str(path))
    manager.CreateH1("h1", "one", 4, 0.0, 4.0)
    manager.CreateH2("h2", "two", 2, 0.0, 2.0, 3, 0.0, 3.0)
    manager.CreateP1("p1", "profile", 4, 0.0, 4.0, 0.0, 50.0)
    manager.CreateP2("p2", "profile", 2, 0.0, 2.0, 3, 0.0, 3.0, 0.0, 50.0)
    manager.CreateNtuple("hits", "what was hit")
    manager.CreateNtupleIColumn("number")
    manager.CreateNtupleFColumn("energy")
    manager.CreateNtupleDColumn("time")
    manager.CreateNtupleSColumn("volume")
    manager.FinishNtuple()
    for i in range(ENTRIES):
        manager.FillH1(0, i % 5, 0.5)
        manager.FillH2(0, i % 2, i % 3)
        manager.FillP1(0, i % 4, i)
        manager.FillP2(0, i % 2, i % 3, i)
        manager.FillNtupleIColumn(0, i)
        manager.FillNtupleFColumn(1, i / 4)
        manager.FillNtupleDColumn(2, i / 3)
        manager.FillNtupleSColumn(3, "box" * (i % 7))
        manager.AddNtupleRow()
    manager.Write()
    manager.CloseFile()


if __name__ == "__main__":
    by_geant4(Path(sys.argv[1]) / "by_geant4.root")
