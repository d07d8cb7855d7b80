"""Experiments with `farroot serve --select`: entries selected near the data, and Arrow Flight."""

from __future__ import annotations

from model import Experiment, Link, Peer

#: Branches of flat100.C.
FLAT = tuple(f"{kind}{at}" for at in range(9) for kind in "fdnls")
JAGGED = tuple(f"j{at}" for at in range(40))
FLAGS = tuple(f"b{at}" for at in range(11))
#: 97 of them.
COLUMNS = (*FLAT, *JAGGED, *(f"count{at}" for at in range(4)), *FLAGS[:8])
#: As clients of Flight would read whole, and a few of all kinds.
MANY, FEW = COLUMNS[:95], (*FLAT[:10], *JAGGED[:10])
#: Leaves one per cent.
CUT = "f0 > 290.8"
FLIGHT = ("--select", "--flight", "0")
NEAR = ("--near",)


def near(name: str, scheme: str, is_known: bool = False) -> Peer:
    return Peer(f"farroot {scheme}://, {name}", "farroot_near", scheme, NEAR, is_known=is_known)


def whole_columns(columns: tuple[str, ...]) -> Experiment:
    return Experiment(
        about=f"{len(columns)} whole columns of a server on this machine",
        file="near",
        columns=columns,
        served=FLIGHT,
        peers=(
            Peer("uproot http://", "uproot_arrays", "http"),
            Peer("uproot root://", "uproot_arrays"),
            Peer("pyarrow by farroot's Flight", "flight_arrays", "grpc"),
            Peer("farroot http://", "farroot_arrays", "http"),
        ),
        runs=7,
    )


EXPERIMENTS: dict[str, Experiment] = {
    "near": Experiment(
        about="97 columns of the entries that a cut leaves, 1 %, with `farroot serve --select`",
        file="near",
        columns=COLUMNS,
        cut=CUT,
        served=("--select",),
        links=(Link(100), Link(100, "rate=50mbit flow-rate=none loss=0")),
        peers=(
            Peer("uproot http://", "uproot_arrays", "http", runs_max=3),
            Peer("uproot root://", "uproot_arrays", runs_max=3),
            Peer("ROOT RDataFrame", "root_survivors", runs_max=3),
            Peer("farroot http://, far", "farroot_near", "http"),
            near("near", "http"),
            near("near, known", "http", is_known=True),
            near("near", "root"),
            near("near, known", "root", is_known=True),
        ),
        runs=7,
    ),
    "near-flight-few": whole_columns(FEW),
    "near-flight-many": whole_columns(MANY),
}
