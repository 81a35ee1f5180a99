"""JupyterLab in headless Chromium: a server of its own, a page, and what a reader does with them."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",  # CI runs as root in a container, where Chromium's sandbox cannot start
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str | None:
    """Path of the installed Chromium or Chrome; COURSE_CHROMIUM names another."""
    return os.environ.get("COURSE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def server(notebooks: Path, scratch: Path, wait_s: float = 60) -> Iterator[str]:
    """Run JupyterLab over a folder of notebooks, without the reader's settings; yields its URL."""
    port, token = _free_port(), secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", f"--IdentityProvider.token={token}", f"--notebook-dir={notebooks}"]
    command += ["--expose-app-in-browser"]  # so that the tests can ask JupyterLab what it knows
    places = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    environment = {**os.environ, **{f"JUPYTER_{p}": str(scratch / p.lower()) for p in places}}
    environment["JUPYTERLAB_WORKSPACES_DIR"] = str(scratch / "workspaces")
    with (scratch / "jupyter.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            _await(f"http://127.0.0.1:{port}/api?token={token}", process, scratch / "jupyter.log", wait_s)
            yield f"http://127.0.0.1:{port}/lab/workspaces/{{name}}/tree/{{name}}.ipynb?token={token}"
        finally:
            process.terminate()
            process.wait(20)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """The machine's own Chromium, driven headless."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield started
        finally:
            started.close()


def open_notebook(browser: Browser, url: str, notebook: str) -> Page:
    """Open a notebook and wait until its kernel is idle."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.goto(url.format(name=notebook.removesuffix(".ipynb")))
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(
        """() => {
            const kernel = jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
            return kernel?.connectionStatus === "connected" && kernel.status === "idle";
        }""",
        timeout=60_000,
    )
    return page


def close_notebook(page: Page) -> None:
    """End its kernel and close the page."""
    page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    page.close()


def run_all(page: Page, timeout_s: float = 300) -> None:
    """Run every cell from the top, as the menu's "Run All Cells" does, and wait for the last."""
    page.evaluate(
        """() => {
            window.courseRan = false;
            jupyterapp.commands.execute("notebook:run-all-cells").finally(() => { window.courseRan = true; });
        }"""
    )
    page.wait_for_function("window.courseRan", timeout=timeout_s * 1000)


def outputs(page: Page) -> tuple[str, list[str]]:
    """What the cells printed, and what the error outputs of cells and sliders say."""
    book = page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    everything = [output for cell in book["cells"] for output in cell.get("outputs", [])]
    printed = "".join("".join(o["text"]) for o in everything if o["output_type"] == "stream")
    errors = [f"{o['ename']}: {o['evalue']}" for o in everything if o["output_type"] == "error"]
    return printed, errors + page.locator(".course-error").all_inner_texts()


def drag(page: Page, explorer: Locator, pixels: int) -> float:
    """Drag the first slider of an `explore` output and let go; ms until the new picture is shown.

    A slider that would run past its end is dragged the other way, one of few values until it shows another.
    """
    handle, picture = explorer.locator(".noUi-handle").first, explorer.locator("img").first
    before = picture.get_attribute("src")
    picture.evaluate(_WATCH)
    x, y = _grab(page, handle)
    track = explorer.locator(".noUi-target").first.bounding_box()
    readout = explorer.locator(".widget-readout").first
    value = readout.inner_text()
    if not track["x"] <= x + pixels <= track["x"] + track["width"]:
        pixels = -pixels
    for times in range(1, 9):
        page.mouse.move(x + times * pixels, y, steps=5)
        if readout.inner_text() != value:
            break
    page.mouse.up()
    page.wait_for_function("window.courseShown !== null", timeout=30_000)
    assert picture.get_attribute("src") != before
    return page.evaluate("window.courseShown - window.courseReleased")


def _grab(page: Page, handle: Locator, tries: int = 10) -> tuple[float, float]:
    """Press the mouse on a slider's handle; its place. The page may still move: look whether it held."""
    for _ in range(tries):
        handle.hover()
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        if "noUi-active" in handle.get_attribute("class"):
            return x, y
        page.mouse.up()
        page.wait_for_timeout(300)
    raise AssertionError("the slider's handle could not be grabbed")


# notes when the pointer is let go, and when the picture has another source that is loaded and painted
_WATCH = """picture => {
    window.courseReleased = window.courseShown = null;
    document.addEventListener("pointerup", () => { window.courseReleased = performance.now(); }, true);
    new MutationObserver((_, observer) => {
        observer.disconnect();
        picture.decode().catch(() => null).then(() => requestAnimationFrame(() => {
            window.courseShown = performance.now();
        }));
    }).observe(picture, {attributes: true, attributeFilter: ["src"]});
}"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await(url: str, process: subprocess.Popen, log: Path, wait_s: float) -> None:
    end = time.monotonic() + wait_s
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(url, timeout=2).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")
