"""Reads from several sources, and the faults meanwhile. Data only; sources.py acts."""

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
    means: str = "arrays"  # all columns; "loop": the event loop; "farroot cp", "xrdcp": copied
    metalink: bool = False  # the hosts are named by a Metalink
    options: tuple[str, ...] = ()
    fails: bool = False  # an error is the right answer
    mark_s: float | None = None  # the rate from then on is recorded too


@dataclass(frozen=True)
class Scenario:
    """Jobs on the same links. `options` are those of each host."""

    about: str
    file: str
    options: dict[str, str]
    jobs: tuple[Job, ...]
    lab: tuple[str, ...] = ("--host", SECOND)


# The far host is a redirector; the others are data servers.
FEDERATION = ("--server", "cluster", "--host", "one", "--host", "two", "--host", "three")
PAIR = ("--server", "cluster", "--host", "one", "--host", "two")
THIRD = "third"
THREE = (FIRST, SECOND, THIRD)


def link(rtt_ms: float, rate: str = "none") -> str:
    return f"delay={rtt_ms / 2}ms rate={rate} flow-rate=none loss=0 up"


LIMITED = {FIRST: link(100, "20MB/s"), SECOND: link(100, "20MB/s")}
IN_MID_READ_S = 1.5
# The redirector has sent the read on, and nothing has come yet but greetings.
SENT_ON_S = 0.35

SCENARIOS = {
    "equal": Scenario(
        about="two equal sources, 20 MB/s each, 100 ms",
        file="flat100",
        options=LIMITED,
        jobs=(
            Job("one source", (FIRST,)),
            Job("two sources", BOTH),
        ),
    ),
    "equal-loop": Scenario(
        about="the event loop, event by event, from two equal sources, 20 MB/s each, 100 ms",
        file="eventloop",
        options=LIMITED,
        jobs=(
            Job("one source", (FIRST,), means="loop"),
            Job("two sources", BOTH, means="loop"),
        ),
    ),
    "near-far": Scenario(
        about="a near source (20 ms, 5 MB/s) and a far one (140 ms, 20 MB/s)",
        file="flat100",
        options={FIRST: link(20, "5MB/s"), SECOND: link(140, "20MB/s")},
        jobs=(
            Job("the near one", (FIRST,)),
            Job("the far one", (SECOND,)),
            Job("both", BOTH),
        ),
    ),
    "dies": Scenario(
        about="a server is killed, stopped, slowed 50-fold in mid-read; two of 20 MB/s, 100 ms",
        file="flat100",
        options=LIMITED,
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
        options=LIMITED,
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
        options=LIMITED,
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
        options={FIRST: link(20, "1gbit"), SECOND: link(20, "1gbit")},
        jobs=(
            Job("one source", (FIRST,)),
            Job("two sources", BOTH),
        ),
    ),
    "federation": Scenario(
        about="a redirector and three data servers, 20 MB/s each, 100 ms; none of them named",
        file="flat100",
        options={
            FIRST: link(100),
            **{host: link(100, "20MB/s") for host in ("one", "two", "three")},
        },
        jobs=(
            Job("undisturbed", (FIRST,)),
            Job("its server killed", (FIRST,), (Fault(IN_MID_READ_S, BUSIEST, "kill"),)),
            Job("its server stopped", (FIRST,), (Fault(IN_MID_READ_S, BUSIEST, "stop"),)),
            Job("its server at 1 MB/s", (FIRST,), (Fault(1, BUSIEST, "rate=1MB/s"),)),
        ),
        lab=FEDERATION,
    ),
    "poor-first": Scenario(
        about="a redirector that sends to a server of 1 MB/s and knows one of 20 MB/s, 100 ms",
        file="flat100",
        options={FIRST: link(100), **{host: link(100, "20MB/s") for host in ("one", "two")}},
        jobs=(
            Job("the good one alone", ("one",), mark_s=5),
            Job("both good", (FIRST,), mark_s=5),
            Job(
                "the first is poor", (FIRST,), (Fault(SENT_ON_S, BUSIEST, "rate=1MB/s"),), mark_s=5
            ),
        ),
        lab=PAIR,
    ),
    "unequal-copies": Scenario(
        about="33 MB to a disk from servers of 20, 40 and 80 Mbit/s, 2 ms",
        file="nano33",
        options={
            FIRST: link(2, "20mbit"),
            SECOND: link(2, "40mbit"),
            THIRD: link(2, "80mbit"),
        },
        jobs=(
            Job("farroot cp 'a|b|c'", THREE, means="farroot cp"),
            Job("farroot cp of a Metalink", THREE, means="farroot cp", metalink=True),
            Job(
                "xrdcp -y 3 of a Metalink",
                THREE,
                means="xrdcp",
                metalink=True,
                options=("--sources", "3"),
            ),
            Job("xrdcp from the fastest", (THIRD,), means="xrdcp"),
        ),
        lab=("--host", SECOND, "--host", THIRD),
    ),
}
