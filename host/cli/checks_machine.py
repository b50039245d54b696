"""Checks of this machine: folders, disk, time zones, ports (O5). They read; they create nothing."""

import os
import shutil
import socket
import stat
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from host.cli.finding import Finding
from host.cli.place import host_address
from runtime.embedded_temporal import is_listening
from runtime.pid_files import PidFiles
from runtime.settings import LOOPBACK, Settings

MIB: Final = 1024 * 1024
LEAST_FREE: Final = 200 * MIB
COMFORTABLE: Final = 2048 * MIB


async def check_folders(settings: Settings) -> list[Finding]:
    """STEWARD_HOME and the private folders in it (H4)."""
    home = settings.home
    if not home.exists():
        return [Finding("folders", "ok", "STEWARD_HOME does not exist yet; the first start makes it")]
    for folder in (home, settings.space_dir, settings.state_dir, settings.files_dir, settings.run_dir):
        if folder.exists() and not (folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)):
            words = f"the folder {folder.name!r} cannot be used by this user"
            return [Finding("folders", "failed", words, "Run this as its owner, or set STEWARD_HOME.")]
    state = settings.state_dir
    if state.exists() and stat.S_IMODE(state.stat().st_mode) & 0o077:
        words = "the state folder is open to other users"
        return [Finding("folders", "failed", words, "Start again (`steward up` closes it), or chmod 700 it.")]
    return [Finding("folders", "ok", "private and writable" if state.exists() else "writable; nothing stored yet")]


async def check_disk(settings: Settings) -> list[Finding]:
    """Free space where Steward stores."""
    place = next(folder for folder in (settings.home, *settings.home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    words = f"{free // MIB} MiB free"
    if free < LEAST_FREE:
        return [Finding("disk", "failed", words, "Make room: databases stop accepting when the disk is full.")]
    if free < COMFORTABLE:
        return [Finding("disk", "warning", words, "Make room soon; histories and attachments grow.")]
    return [Finding("disk", "ok", words)]


async def check_clock_zone(_settings: Settings) -> list[Finding]:
    """Whether time zones can be read; the clock itself is compared with the database's in `checks_store`."""
    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        return [Finding("time zones", "failed", "no time zone data", "Install the package tzdata.")]
    return [Finding("time zones", "ok", "known")]


async def check_ports(settings: Settings) -> list[Finding]:
    """Each port: served by the recorded process of this STEWARD_HOME, free, or taken by somebody else."""
    ports = [("STEWARD_PORT", "host", host_address(settings))]
    if settings.embedded_temporal:
        ports += [
            ("STEWARD_TEMPORAL_PORT", "temporal", f"{LOOPBACK}:{settings.temporal_port}"),
            ("STEWARD_TEMPORAL_UI_PORT", "temporal", f"{LOOPBACK}:{settings.temporal_ui_port}"),
        ]
    return [await _port(settings.run_dir, *port) for port in ports]


async def _port(run_dir: Path, setting: str, child: str, address: str) -> Finding:
    check = f"port {address.rpartition(':')[2]}"
    listening = await is_listening(address)
    if PidFiles(run_dir).recorded(child) is not None:
        if listening:
            return Finding(check, "ok", f"{child} of this STEWARD_HOME listens")
        return Finding(check, "failed", f"{child} runs but does not listen", "Wait a moment, then look at its log.")
    if listening:
        words = f"somebody listens whom `steward up` of this STEWARD_HOME did not start ({setting})"
        return Finding(check, "warning", words, f"Fine if that is your {child}; else set {setting} to a free port.")
    if not _can_bind(address):
        return Finding(check, "failed", f"cannot be used by this user ({setting})", f"Set {setting} to another port.")
    return Finding(check, "ok", "free; Steward does not run here")


def _can_bind(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError:
        return False
    return True
