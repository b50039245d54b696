"""What the operating system's refusals become: a failure that names the error and never a path (E3, I9).

The hard thing is honesty about writes: an error after the content is in place must not look like "nothing happened".
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class FileAccessError(Exception):
    """The operating system failed at a file operation that nobody refused (disk full, I/O error, too many open files).

    Attributes:
        reason: the name of the system's error, such as `ENOSPC`.
        published: whether the new content may already stand in its place although the call failed.
    """

    def __init__(self, reason: str, published: bool = False) -> None:
        super().__init__(f"The file system answered {reason}.")
        self.reason = reason
        self.published = published


@contextmanager
def system_errors(published: bool = False) -> Iterator[None]:
    """Turn an `OSError` of the block into a `FileAccessError`; its cause is cut off because it holds file names."""
    try:
        yield
    except OSError as error:
        raise FileAccessError(errno.errorcode.get(error.errno or 0, "an error"), published) from None
