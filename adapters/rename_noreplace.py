"""Renaming that never replaces: the one primitive Python lacks, from the C library where it is there (E4).

The fallback (link, then unlink) is as exact, but shows two links to the file for a moment and after a kill in between.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_RENAME_NOREPLACE = 1
_RENAME_EXCL = 4
_NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})

_SystemCall = Callable[[int, bytes, int, bytes, int], int]


def rename_noreplace(folder: int, source: str, target: str) -> None:
    """Rename `source` to `target` within the open folder.

    Raises:
        FileExistsError: something is at `target`; nothing was changed.
        OSError: any other refusal of the system.
    """
    if not _rename_by_system(folder, source, target):
        rename_by_link(folder, source, target)


def rename_by_link(folder: int, source: str, target: str) -> None:
    """The fallback of `rename_noreplace` for file systems and systems without the call."""
    os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(source, dir_fd=folder)


def _rename_by_system(folder: int, source: str, target: str) -> bool:
    call = _system_call()
    if call is None:
        return False
    flag = _RENAME_EXCL if sys.platform == "darwin" else _RENAME_NOREPLACE
    if call(folder, os.fsencode(source), folder, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        return False
    raise OSError(code, os.strerror(code))


@cache
def _system_call() -> _SystemCall | None:
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int

    def call(old_folder: int, old: bytes, new_folder: int, new: bytes, flags: int) -> int:
        return int(function(old_folder, old, new_folder, new, flags))

    return call
