"""`course_lib`'s public names: there, and themselves whatever was imported first."""

import subprocess
import sys

import course_lib


def _run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_every_name_loads():
    for name in course_lib.__all__:
        assert getattr(course_lib, name) is not None


def test_import_loads_nothing():
    code = "import sys, course_lib; print([m for m in sys.modules if m in ('numpy', 'matplotlib', 'cupy')])"
    assert _run(code).stdout == "[]\n"


def test_a_function_keeps_its_name_when_its_module_is_imported_first():
    names = [name for name, module in course_lib._EXPORTS.items() if name == module]
    for name in names:
        code = f"import course_lib.{name}; from course_lib import {name}; print(callable({name}))"
        assert _run(code).stdout == "True\n"
