"""Tries a wheel where there is only Python: no compiler, no Rust, no checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SMOKE = Path(__file__).with_name("smoke.py")
REPOSITORY = SMOKE.resolve().parents[1]
ROOTS = REPOSITORY / "build" / "clean-roots"
MIRROR = "http://deb.debian.org/debian"


@dataclass(frozen=True)
class Debian:
    """A version of Debian: its Python is 3.`python`, its glibc 2.`glibc`."""

    suite: str
    python: int
    glibc: int


#: Debian 11's own Python is 3.9; its root gets Debian 12's 3.11, compiled for its glibc, which is
#: older than EL9's 2.34.
OLDEST = Debian("bullseye", 11, 31)
DEBIANS = (OLDEST, Debian("bookworm", 11, 36), Debian("trixie", 13, 41), Debian("forky", 14, 43))
#: Where a wheel for another processor is tried, which QEMU emulates.
EMULATED = Debian("trixie", 13, 41)

#: Debian's names of processors.
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}

#: A function that runs a command and raises if it fails.
Run = Callable[..., str]


def try_wheel(wheel: Path, machine: str, run: Run) -> Iterator[str]:
    """Installs a wheel for a processor and runs `smoke.py` wherever that can be done here; yields
    a text for each such environment."""
    is_own = machine == os.uname().machine
    debians: Sequence[Debian] = ()
    if machine in PROCESSORS and os.geteuid() == 0 and shutil.which("debootstrap"):
        debians = DEBIANS if is_own else (EMULATED,) if _emulates(machine) else ()
    for debian in debians:
        yield _in_debian(debian, machine, wheel, run)
    for python in _pythons() if is_own else ():
        program = shutil.which(f"python3.{python}")
        if program and _starts(program) and python not in {debian.python for debian in debians}:
            yield _in_environment(program, wheel, run)


def _pythons() -> list[int]:
    """N of each CPython 3.N that the package promises to work with."""
    project = (REPOSITORY / "python" / "pyproject.toml").read_text()
    return [int(python) for python in re.findall(r":: Python :: 3\.(\d+)", project)]


def _emulates(machine: str) -> bool:
    """Whether the kernel starts programs of this processor with QEMU, also in a chroot."""
    entry = Path("/proc/sys/fs/binfmt_misc", f"qemu-{machine}")
    return entry.exists() and "F" in entry.read_text().partition("flags:")[2].partition("\n")[0]


def _starts(program: str) -> bool:
    """Whether this is an interpreter: pyenv has names on PATH that lead to none."""
    return subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0


def _in_debian(debian: Debian, machine: str, wheel: Path, run: Run) -> str:
    """In a chroot of Debian (minbase), made once, with Python and without a compiler."""
    root = ROOTS / f"{debian.suite}-{machine}"
    inside = root / "try"
    if not inside.exists():
        packages = ("zlib1g", "libffi7") if debian == OLDEST else ("python3",)
        _bootstrap(root, debian.suite, machine, packages, run)
        if debian == OLDEST:
            _compile_python(root, machine, run)
    shutil.rmtree(inside, ignore_errors=True)
    _fetch(wheel, debian, machine, inside / "wheels", run)
    shutil.copy(SMOKE, inside)
    lines = (
        "! command -v cc gcc cargo rustc",
        "python3 -m venv --without-pip /try/venv",
        "cd /try/wheels",
        "pip=$(echo pip-*.whl)/pip",
        "/try/venv/bin/python $pip install --quiet --no-index --find-links . farroot",
    )
    run(*_inside(root, *lines))
    version = (root / "etc" / "debian_version").read_text().strip()
    works = run(*_inside(root, "/try/venv/bin/python /try/smoke.py")).strip()
    return f"{works}, in a root of Debian {version} ({machine}, glibc 2.{debian.glibc})"


def _bootstrap(root: Path, suite: str, machine: str, packages: Sequence[str], run: Run) -> None:
    """Makes a minimal Debian; the remains of an interrupted debootstrap are removed."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    run(
        *("debootstrap", "--variant=minbase", f"--arch={PROCESSORS[machine]}"),
        # The script of all suites since 2016; debootstrap has no name for the newest one.
        *(f"--include={','.join(packages)}", suite, root, MIRROR, "sid"),
    )


def _inside(root: Path, *lines: str) -> tuple[str | Path, ...]:
    """The command that runs lines of a shell in a root, with nothing from outside."""
    clean = ("env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root")
    return ("chroot", root, *clean, "sh", "-ec", "\n".join(lines))


def _compile_python(root: Path, machine: str, run: Run) -> None:
    """Compiles Debian 12's Python in a second root of this Debian, and copies it to the first."""
    compiler = root.with_name(f"{root.name}-compiler")
    packages = ("build-essential", "zlib1g-dev", "libffi-dev", "ca-certificates")
    _bootstrap(compiler, OLDEST.suite, machine, packages, run)
    sources = compiler / "etc" / "apt" / "sources.list.d" / "python.list"
    sources.write_text(f"deb-src {MIRROR} bookworm main\n")
    lines = (
        "apt-get update --quiet",
        "cd /usr/src",
        f"apt-get source --quiet --download-only python3.{OLDEST.python}",
        f"tar xf python3.{OLDEST.python}_*.orig.tar.*",
        f"cd Python-3.{OLDEST.python}*",
        "./configure --quiet",
        "make --quiet",
        "make --quiet install DESTDIR=/made",
    )
    run(*_inside(compiler, *lines))
    shutil.copytree(compiler / "made/usr/local", root / "usr/local", dirs_exist_ok=True)


def _fetch(wheel: Path, debian: Debian, machine: str, folder: Path, run: Run) -> None:
    """Downloads pip and a wheel's dependencies for a version of Debian, and copies the wheel."""
    abis = (f"cp3{debian.python}", "abi3", "none")
    platforms = (f"manylinux_2_{glibc}_{machine}" for glibc in range(debian.glibc, 16, -1))
    run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"),
        *("--python-version", f"3.{debian.python}", "--implementation", "cp"),
        *(word for abi in abis for word in ("--abi", abi)),
        *(word for platform in platforms for word in ("--platform", platform)),
        *("--dest", folder, wheel, "pip"),
    )


def _in_environment(program: str, wheel: Path, run: Run) -> str:
    """In a new virtual environment of an interpreter, whose PATH leads nowhere else."""
    with tempfile.TemporaryDirectory() as folder:
        wheels, venv = Path(folder, "wheels"), Path(folder, "venv")
        run(program, "-m", "venv", venv)
        python = venv / "bin" / "python"
        run(python, "-m", "pip", "wheel", "--quiet", "--wheel-dir", wheels, wheel)
        clean = ("env", "-i", f"PATH={venv / 'bin'}", f"HOME={folder}", python)
        find = ("--no-index", "--find-links", wheels)
        run(*clean, "-m", "pip", "install", "--quiet", *find, "farroot", folder=Path(folder))
        works = run(*clean, SMOKE, folder=Path(folder)).strip()
        return f"{works}, in a virtual environment without PATH"
