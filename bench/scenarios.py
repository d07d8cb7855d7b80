"""Reads from several sources, and what happens to them meanwhile. Data only; sources.py acts."""

from __future__ import annotations

from dataclasses import dataclass

from faults import BUSIEST, Fault

FIRST, SECOND = "far", "second"
BOTH = (FIRST, SECOND)


@dataclass(frozen=True)
class Job:
    """One way to read the file: from these hosts, while these faults happen."""

    name: str
    hosts: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    loop: bool = False  # the event loop instead of all columns
    fails: bool = False  # an error is the right answer


@dataclass(frozen=True)
class Scenario:
    """Jobs on the same links. `knobs` are those of each host."""

    about: str
    file: str
    knobs: dict[str, str]
    jobs: tuple[Job, ...]
    lab: tuple[str, ...] = ("--host", SECOND)


# The far host is a redirector; the others are data servers.
FEDERATION = ("--server", "cluster", "--host", "one", "--host", "two", "--host", "three")


def link(rtt_ms: float, rate: str = "none") -> str:
    return f"delay={rtt_ms / 2}ms rate={rate} flow-rate=none loss=0 up"


LIMITED = {FIRST: link(100, "20MB/s"), SECOND: link(100, "20MB/s")}
IN_MID_READ_S = 1.5

SCENARIOS = {
    "equal": Scenario(
        about="two equal sources, 20 MB/s each, 100 ms",
        file="flat100",
        knobs=LIMITED,
        jobs=(
            Job("one source", (FIRST,)),
            Job("two sources", BOTH),
        ),
    ),
    "equal-loop": Scenario(
        about="the event loop, event by event, from two equal sources, 20 MB/s each, 100 ms",
        file="eventloop",
        knobs=LIMITED,
        jobs=(
            Job("one source", (FIRST,), loop=True),
            Job("two sources", BOTH, loop=True),
        ),
    ),
    "near-far": Scenario(
        about="a near source (20 ms, 5 MB/s) and a far one (140 ms, 20 MB/s)",
        file="flat100",
        knobs={FIRST: link(20, "5MB/s"), SECOND: link(140, "20MB/s")},
        jobs=(
            Job("the near one", (FIRST,)),
            Job("the far one", (SECOND,)),
            Job("both", BOTH),
        ),
    ),
    "dies": Scenario(
        about="a server is killed, stopped, slowed 50-fold in mid-read; two of 20 MB/s, 100 ms",
        file="flat100",
        knobs=LIMITED,
        jobs=(
            Job("undisturbed", BOTH),
            Job("first killed", BOTH, (Fault(IN_MID_READ_S, FIRST, "kill"),)),
            Job("first stopped", BOTH, (Fault(IN_MID_READ_S, FIRST, "stop"),)),
            Job("first slowed", BOTH, (Fault(IN_MID_READ_S, FIRST, "rate=0.4MB/s"),)),
        ),
    ),
    "alone": Scenario(
        about="one source, 20 MB/s, 100 ms: restarted after 3 s, cut for 10 s",
        file="flat100",
        knobs=LIMITED,
        jobs=(
            Job("undisturbed", (FIRST,)),
            Job(
                "restarted",
                (FIRST,),
                (
                    Fault(IN_MID_READ_S, FIRST, "kill"),
                    Fault(IN_MID_READ_S + 3, FIRST, "restart"),
                ),
            ),
            Job(
                "cut for 10 s",
                (FIRST,),
                (
                    Fault(IN_MID_READ_S, FIRST, "down"),
                    Fault(IN_MID_READ_S + 10, FIRST, "up"),
                ),
            ),
        ),
    ),
    "dead": Scenario(
        about="a server that is not there, or says nothing, from the beginning",
        file="flat100",
        knobs=LIMITED,
        jobs=(
            Job("the second alone", (SECOND,)),
            Job("refused", (FIRST,), (Fault(-1, FIRST, "kill"),), fails=True),
            Job("refused, second there", BOTH, (Fault(-1, FIRST, "kill"),)),
            Job("hung, second there", BOTH, (Fault(-1, FIRST, "stop"),)),
        ),
    ),
    "enough": Scenario(
        about="two sources where one would do: 20 ms, 1 Gbit/s",
        file="h42",
        knobs={FIRST: link(20, "1gbit"), SECOND: link(20, "1gbit")},
        jobs=(
            Job("one source", (FIRST,)),
            Job("two sources", BOTH),
        ),
    ),
    "federation": Scenario(
        about="a redirector and three data servers, 20 MB/s each, 100 ms; none of them named",
        file="flat100",
        knobs={FIRST: link(100), **{host: link(100, "20MB/s") for host in ("one", "two", "three")}},
        jobs=(
            Job("undisturbed", (FIRST,)),
            Job("its server killed", (FIRST,), (Fault(IN_MID_READ_S, BUSIEST, "kill"),)),
            Job("its server stopped", (FIRST,), (Fault(IN_MID_READ_S, BUSIEST, "stop"),)),
            Job("its server at 1 MB/s", (FIRST,), (Fault(1, BUSIEST, "rate=1MB/s"),)),
        ),
        lab=FEDERATION,
    ),
}
