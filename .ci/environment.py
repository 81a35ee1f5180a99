"""Make or refresh the course's virtual environment; only the standard library is used.

    python3 .ci/environment.py [--extras lab,test] [--venv .venv]

Nothing is installed, and the network is not touched, while `pyproject.toml`, the Python, the folder
and the driver are the ones of the last time.
"""

from __future__ import annotations  # so that an old Python reads this file and can be told it is old

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
OLDEST = (3, 11)


def main() -> int:
    """Bring the environment up to date and say what was picked; the exit status is pip's."""
    options = _options()
    if sys.version_info < OLDEST:
        return _stop(f"Python 3.11 or newer is needed, not {sys.version.split()[0]}: make PYTHON=python3.12")
    from course_lib.driver import cupy_wheel, probe

    extra, reason = cupy_wheel(probe())
    print(f"CuPy: {reason}")
    extras = set(options.extras.split(","))
    folder = ROOT / options.venv
    stamp, mark = folder / "course-stamp", _mark(folder)
    base = f"python{sys.version_info[0]}.{sys.version_info[1]}/{extra}"  # what cannot be changed in place
    old_mark, old_base, *installed = stamp.read_text().split() if stamp.exists() else ["", base]
    if (old_mark, old_base) == (mark, base) and extras <= set(installed):
        return 0
    extras.update(installed)
    stamp.unlink(missing_ok=True)
    if not _make(folder, fresh=old_base != base):  # another Python, or a second CuPy, does not fit in
        return _stop("cannot make a virtual environment; on Debian or Ubuntu: apt-get install python3-venv")
    print(f"Installing the course into {options.venv} (once; later starts need no network) ...", flush=True)
    wanted = f"{ROOT}[{','.join(sorted({*extras, extra} - {None}))}]"
    pip = [str(_python(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    status = subprocess.call([*pip, "--editable", wanted])
    if status == 0:
        _settings(folder)
        stamp.write_text(" ".join([mark, base, *sorted(extras)]))
    return status


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extras", default="lab,test")
    parser.add_argument("--venv", default=".venv")
    return parser.parse_args()


def _mark(folder: Path) -> str:
    """What is asked for, and where, as one hash."""
    parts = [(ROOT / "pyproject.toml").read_text(encoding="utf-8"), str(folder)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(folder: Path, fresh: bool) -> bool:
    """Create the virtual environment, or leave a working one as it is unless a fresh one is asked for."""
    works = [str(_python(folder)), "-c", "import pip"]
    if not fresh and _python(folder).exists() and subprocess.call(works, stderr=subprocess.DEVNULL) == 0:
        return True
    try:
        venv.create(folder, clear=True, with_pip=True)
    except (subprocess.CalledProcessError, SystemExit, OSError):
        return False
    return True


def _settings(folder: Path) -> None:
    """JupyterLab asks nothing about news (the course fetches nothing), and shows the glossary as a page."""
    quiet = '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}\n'
    viewers = '{"defaultViewers": {"markdown": "Markdown Preview"}}'
    shown = f'{{"@jupyterlab/docmanager-extension:plugin": {viewers}}}\n'
    for name, text in (
        ("etc/jupyter/labconfig/page_config.json", quiet),
        ("share/jupyter/lab/settings/overrides.json", shown),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _stop(words: str) -> int:
    print(words, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
