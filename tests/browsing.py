"""Pages in headless Chromium: a page is laid out in a frame of some width, and a script tells what came of it."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def laid_out(page: str, facts: str, folder: Path, *, width: int, dark: bool) -> dict[str, object]:
    """Lay a page out, and return the value of `facts`, a JavaScript expression, as JSON gives it."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    script = f"<script>parent.document.title=JSON.stringify({facts})</script>"
    # The page's own policy allows no script; this one only measures.
    page = page.replace("default-src 'none';", "script-src 'unsafe-inline';") + script
    # In a frame, because a window of Chromium is 500 pixels wide at least.
    frame = f'<iframe style="width:{width}px;height:900px;border:0" srcdoc="{html.escape(page)}"></iframe>'
    file = folder / "page.html"
    file.write_text(f"<title></title>{frame}", encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    done = subprocess.run(
        [*command, *(["--force-dark-mode"] if dark else []), "--dump-dom", "--window-size=1400,1000", file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = re.search(r"<title>({.*?)</title>", done.stdout, re.DOTALL)
    assert found is not None, "the page told nothing"
    told: dict[str, object] = json.loads(html.unescape(found[1]))
    return told


def luminance(color: object) -> float:
    """Relative luminance of `rgb(…)`, as WCAG 2.2 defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", str(color))[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: object, other: object) -> float:
    """Contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
