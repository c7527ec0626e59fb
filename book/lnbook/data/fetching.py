"""Data sets fetched ahead of their use, all at once."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from . import files
from .dataset import DataError, DataSet
from .environment import is_offline
from .registry import data_set
from .transfer import addresses, silent_hosts

__all__ = ["fetch"]


def fetch(names: Iterable[str], say: Callable[[str], object]) -> dict[str, str]:
    """Download the data sets that are absent into the cache, all at the same time, each file hashed.

    Hosts that do not answer cost one timeout together, not one each. If it is interrupted, transfers end
    and leave no part of a file.

    Args:
        names: of `DATA_SETS`.
        say: takes a line as each download begins and ends; called by the calling thread only.

    Returns:
        By name, "" for a data set that is there now (or embedded), else the reason why it is not.

    Raises:
        DataError: a name that is no data set's, or `LNLIB_OFFLINE` has no meaning.

    >>> fetch(["digits"], print)
    {'digits': ''}
    """
    reasons = {data_set(name).name: "" for name in names}
    offline = is_offline()
    absent = []
    for entry in map(data_set, reasons):
        try:
            if entry.files and files.locate(entry) is None:
                absent.append(entry)
        except DataError as error:
            reasons[entry.name] = str(error)
    if not absent:
        return reasons
    urls = [url for entry in absent for file in entry.files for url in addresses(entry, file)]
    silent = {} if offline else silent_hosts(urls)
    stop = threading.Event()
    with ThreadPoolExecutor(len(absent)) as pool:
        try:
            tasks = {pool.submit(_download, entry, dict(silent), stop): entry.name for entry in absent}
            if not offline:
                for entry in absent:
                    say(f"{entry.name}: downloading {entry.size / 1e6:.1f} MB")
            for task in as_completed(tasks):
                name = tasks[task]
                try:
                    task.result()
                except (DataError, files.DownloadFailed) as error:
                    reasons[name] = str(error)
                say(f"{name}: {reasons[name] or 'downloaded'}")
        finally:
            stop.set()
    return reasons


def _download(entry: DataSet, silent: dict[str, str], stop: threading.Event) -> None:
    folder = files.download(entry, silent, stop, bar=False)
    files.verify(entry, folder)  # also what was in the cache before
