"""What this machine is: `doctor()` says which backend runs the kernels and why, and what is missing.

It only looks and never raises for what it finds; nothing is installed and the network is not used.
"""

import json
import os
import platform
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path

from . import backend, driver
from .emulator import toolkit

DATA = Path(__file__).parents[1] / "data"
_MANAGER = Path("share", "jupyter", "labextensions", "@jupyter-widgets", "jupyterlab-manager", "package.json")


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what it is, and whether something is to be done about it."""

    name: str
    text: str
    fine: bool = True


@dataclass(frozen=True)
class Report:
    """Findings about the machine, and what each of the four labels means on it."""

    findings: tuple[Finding, ...]
    labels: tuple[Finding, ...]

    @property
    def fine(self) -> bool:
        """Whether nothing is to be done."""
        return all(finding.fine for finding in self.findings)

    def __repr__(self) -> str:
        lines = [_line(f) for f in self.findings]
        return "\n".join([*lines, "", "What the labels mean here:", *(_line(f) for f in self.labels)])

    def _repr_html_(self) -> str:
        return (
            f"<table>{''.join(map(_row, self.findings))}</table>"
            f"<p>What the labels mean here:</p><table>{''.join(map(_row, self.labels))}</table>"
        )


def doctor() -> Report:
    """Look at this machine. The result shows itself in a notebook and prints as text elsewhere."""
    found = driver.probe()
    findings = (_kernels(), _driver(found), _cupy(found), _compiler(), _jupyter(), _sliders(), _python())
    return Report(findings, tuple(_labels()))


def _kernels() -> Finding:
    if backend.on_gpu():
        return Finding("kernels run on", f"your GPU: {backend.BACKEND.reason}")
    wanted = backend.BACKEND.state != "no libraries"  # else there is a GPU, and CuPy cannot use it
    return Finding("kernels run on", f"the emulator: {backend.BACKEND.reason}", wanted)


def _driver(found: driver.Driver | None) -> Finding:
    if found is None:
        return Finding("NVIDIA driver", "none")
    return Finding("NVIDIA driver", f"supports CUDA {found.version}, GPUs: {found.devices}")


def _cupy(found: driver.Driver | None) -> Finding:
    """CuPy's CUDA against the driver's, and the wheel to install where they disagree."""
    installed = backend.cupy_version()
    if installed is None:
        return Finding("CuPy", "not installed")
    wheel, version = installed
    if fix := backend.wrong_wheel(found):
        return Finding("CuPy", f"{wheel} {version} is too new for the driver: {fix}", False)
    if backend.on_gpu():
        toolkit_version = ".".join(map(str, backend.cp.cuda.nvrtc.getVersion()))
        version += f" with NVRTC {toolkit_version}, for a driver of CUDA {found.version}"
    return Finding("CuPy", f"{wheel} {version}")


def _compiler() -> Finding:
    """NVRTC, its headers and the disassemblers, which the emulator takes from wheels."""
    version = _nvrtc_version() if toolkit.nvrtc_majors() else None
    if version is None:
        text = "no NVRTC: only the course's own kernels run, from their stored PTX"
        return Finding("compiler", text, platform.system() == "Darwin")
    missing = [*toolkit.missing_header_wheels(int(version.split(".")[0]))]
    missing += [toolkit.tool_wheel(t) for t in ("nvdisasm", "cuobjdump") if toolkit.tool(t) is None]
    if missing:
        return Finding("compiler", f"NVRTC {version}; missing: pip install {' '.join(missing)}", False)
    other = "" if version.startswith("13.") else "; counts may differ a little from NVRTC 13's"
    return Finding("compiler", f"NVRTC {version} with headers and disassembler{other}")


def _jupyter() -> Finding:
    lab = _version("jupyterlab")
    return Finding("JupyterLab", lab or "not in this environment (VS Code and Colab bring their own)")


def _sliders() -> Finding:
    """ipywidgets in the kernel must fit jupyterlab_widgets in the server, often another environment."""
    kernel, server = _version("ipywidgets"), _manager_version()
    if kernel is None:
        return Finding("sliders", "no ipywidgets: pictures stay still; pip install ipywidgets", False)
    if server is None:
        return Finding("sliders", f"ipywidgets {kernel}; no JupyterLab server seen")
    if (int(kernel.split(".")[0]) >= 8) != (int(server.split(".")[0]) >= 5):
        text = f"ipywidgets {kernel} does not fit the server's manager {server}: in both environments, "
        return Finding("sliders", text + 'pip install "ipywidgets~=8.1" "jupyterlab_widgets~=3.0"', False)
    return Finding("sliders", f"ipywidgets {kernel}, and the server's manager {server} fits")


def _manager_version() -> str | None:
    """The widget manager of the JupyterLab server that started this kernel; None outside of one."""
    parent = os.environ.get("JPY_PARENT_PID")
    if parent is None:
        return None
    try:
        import psutil

        prefix = Path(psutil.Process(int(parent)).cmdline()[0]).parents[1]
        return json.loads((prefix / _MANAGER).read_text(encoding="utf-8"))["version"]
    except Exception:  # another user's process, another layout: nothing to say
        return None


def _python() -> Finding:
    packages = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "matplotlib"))
    return Finding("Python", f"{platform.python_version()}, {packages}")


def _labels() -> list[Finding]:
    gpu = backend.on_gpu()
    recorded = sorted(folder.name.upper() for folder in (DATA / "recorded").glob("*/"))
    return [
        Finding("counted", "by the emulator, on every machine alike"),
        Finding("modelled", "computed from the counts, for a GPU that is named"),
        Finding("recorded", f"measured earlier on: {', '.join(recorded) or 'nothing yet'}"),
        Finding("measured", "now, on your GPU" if gpu else "nothing: that needs a GPU"),
    ]


def _nvrtc_version() -> str | None:
    try:
        from cuda.bindings import nvrtc

        return ".".join(map(str, nvrtc.nvrtcVersion()[1:]))
    except Exception:  # the binding is missing, or finds no library
        return None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _line(finding: Finding) -> str:
    return f"{'  ' if finding.fine else '! '}{finding.name:<15} {finding.text}"


def _row(finding: Finding) -> str:
    mark = "" if finding.fine else "<b>to do:</b> "
    style = "text-align:left"
    text = mark + escape(finding.text)
    return f'<tr><th style="{style}">{finding.name}</th><td style="{style}">{text}</td></tr>'


if __name__ == "__main__":
    print(doctor())
