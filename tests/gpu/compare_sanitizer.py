"""Run the kernels of `sanitizer_kernels.cu` under compute-sanitizer and keep what it says of each.

    python tests/gpu/compare_sanitizer.py [FILE]

Needs a GPU, nvcc and compute-sanitizer, and Python alone; takes about a minute. Writes
`tests/data/sanitizer/<gpu>.json`, or FILE: for each kernel and tool the first lines of its reports. Prints
where the tools disagree with the table. `tests/emulator/test_sanitizer.py` holds the emulator against it.
"""

import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from sanitizer_kernels import FILE, KERNELS, TOOLS  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "sanitizer"
TIMEOUT_S = 60
MOST_LINES = 4
OPTIONS = ("--show-backtrace", "no", "--print-limit", "100000", "--destroy-on-device-error", "kernel")

MAIN = r"""
#include <cstdio>
#include <cstring>
#include <vector>

struct Entry { const char *name; void (*kernel)(float *, float *, int *, float *, int); int grid, block; };
static const Entry ENTRIES[] = {
%s};

static int run(const Entry &entry) {
    int n = entry.grid * entry.block, *c;
    float *x, *y, *fresh;
    std::vector<float> numbers(n);
    for (int i = 0; i < n; ++i) numbers[i] = i;
    if (cudaMalloc(&x, 4 * n) || cudaMalloc(&y, 4 * n) || cudaMalloc(&c, 4 * n)) return 2;
    if (cudaMalloc(&fresh, 4 * n)) return 2;
    cudaMemcpy(x, numbers.data(), 4 * n, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, 4 * n);
    cudaMemset(c, 0, 4 * n);
    cudaDeviceSynchronize();
    std::printf("\nRUN %%s\n", entry.name);
    std::fflush(stdout);
    entry.kernel<<<entry.grid, entry.block>>>(x, y, c, fresh, n);
    int error = cudaDeviceSynchronize();
    cudaGetLastError();
    std::printf("\nEND %%s %%d\n", entry.name, error);
    std::fflush(stdout);
    cudaFree(x), cudaFree(y), cudaFree(c), cudaFree(fresh);
    return 0;
}

int main(int count, char **names) {
    for (int k = 1; k < count; ++k)
        for (const Entry &entry : ENTRIES)
            if (!std::strcmp(entry.name, names[k]) && run(entry)) return 1;
    return 0;
}
"""


def build(folder: Path) -> Path:
    """Compile all kernels into one program that runs those named on its command line."""
    entries = "".join(f'    {{"{k.name}", {k.name}, {k.grid}, {k.block}}},\n' for k in KERNELS.values())
    source, program = folder / "kernels.cu", folder / "kernels"
    source.write_text(FILE.read_text() + MAIN % entries)
    nvcc = _find("nvcc")
    subprocess.run([nvcc, "-std=c++17", "-arch=native", "-lineinfo", "-o", program, source], check=True)
    return program


def _find(tool: str) -> str:
    """Path of a program of the CUDA toolkit."""
    places = [tool, f"/usr/local/cuda/bin/{tool}", f"/usr/local/cuda/compute-sanitizer/{tool}"]
    found = next((path for path in map(shutil.which, places) if path), None)
    if found is None:
        sys.exit(f"{tool} was not found; put the CUDA toolkit's bin folder on PATH")
    return found


def reports(output: str) -> Iterator[list[str]]:
    """The reports in a tool's output: a line that is not indented, with the indented lines below it."""
    report: list[str] = []
    for line in output.splitlines():
        if not line.startswith("========="):
            continue
        text = line.removeprefix("=========")
        if report and not text.startswith("   "):
            yield report
            report = []
        if text.strip():
            report.append(text.strip())
    if report:
        yield report


def verdicts(output: str) -> dict[str, list[str]]:
    """Kernel name -> first lines of the reports that name it, each once."""
    found: dict[str, list[str]] = {}
    for report in reports(output):
        text = " ".join(report)
        for name in set(re.findall(r"\w+", text)) & set(KERNELS):
            first = re.sub(r"0x[0-9a-f]+", "0x...", report[0])
            lines = found.setdefault(name, [])
            if first not in lines and len(lines) < MOST_LINES:
                lines.append(first)
    return found


def run_tool(tool: str, program: Path) -> dict[str, list[str]]:
    """What a tool says of every kernel it can run; a kernel that ends the process costs another process."""
    waiting = [kernel.name for kernel in KERNELS.values() if tool in kernel.tools]
    found: dict[str, list[str]] = {name: [] for name in waiting}
    while waiting:
        output = _output([_find("compute-sanitizer"), "--tool", tool, *OPTIONS, str(program), *waiting])
        for name, lines in verdicts(output).items():
            found[name] = lines
        started = re.findall(r"^RUN (\w+)$", output, re.MULTILINE)
        if not started:
            sys.exit(f"{tool} ran no kernel:\n{output[:3000]}")
        waiting = waiting[waiting.index(started[-1]) + 1 :]
    return found


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, text=True
        )
    except subprocess.TimeoutExpired as expired:
        return (expired.stdout or b"").decode(errors="replace")
    return done.stdout


def environment() -> dict[str, str]:
    """Where this was recorded."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu, driver = (part.strip() for part in _output(query).splitlines()[0].split(","))
    release = re.search(r"release ([\d.]+)", _output([_find("nvcc"), "--version"]))
    version = re.search(r"[Vv]ersion ([\d.]+)", _output([_find("compute-sanitizer"), "--version"]))
    return {
        "gpu": gpu,
        "driver": driver,
        "cuda": release[1] if release else "",
        "compute_sanitizer": version[1] if version else "",
        "date": datetime.date.today().isoformat(),
        "script": "tests/gpu/compare_sanitizer.py",
    }


def main() -> int:
    """Record everything; the exit status is 0 where the tools say what the table expects."""
    record: dict = environment()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        by_tool = {tool: run_tool(tool, program) for tool in TOOLS}
    record["kernels"] = {
        name: {tool: by_tool[tool][name] for tool in kernel.tools} for name, kernel in KERNELS.items()
    }
    slug = record["gpu"].lower().removeprefix("nvidia ").replace(" ", "_")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA / f"{slug}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{path}: {len(KERNELS)} kernels")
    return _compare(record["kernels"])


def _compare(found: dict[str, dict[str, list[str]]]) -> int:
    """Print where a tool reports a kernel it should not, or the reverse."""
    status = 0
    for name, tools in found.items():
        for tool, lines in tools.items():
            if bool(lines) != (KERNELS[name].tool == tool):
                print(f"  {name}: {tool} says {'; '.join(lines) or 'nothing'}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
