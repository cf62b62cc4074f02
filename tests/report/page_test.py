"""`shoal report` as a process, and its page in headless Chromium: every chart is drawn with data, the console stays
empty, and the page loads nothing else. Usage: page_test.py SHOAL"""
import csv
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SHOAL = sys.argv[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CHARTS = ["score", "loss", "shares", "staleness", "consensus", "timeline"]
TASK = ["--model", "linear", "--data", "synthetic:blobs,n=600", "--batch", "25", "--workers", "3", "--epochs", "3",
        "--ns-per-sample", "20000", "--ns-per-element", "reduce=1,update=1,copy=1",
        "--no-tune", "--threads", "1", "--quiet"]


def shoal(*arguments):
    return subprocess.run([SHOAL, *map(str, arguments)], capture_output=True, text=True, timeout=100)


class Page(html.parser.HTMLParser):
    """Collects the attributes of elements with an id and of the root, and everything that would load something."""

    def __init__(self, text):
        super().__init__()
        self.by_id, self.root, self.loads = {}, {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        if "id" in own:
            self.by_id[own["id"]] = own
        if tag == "html":
            self.root = own
        self.loads += [f"<{tag} {name}={value}>" for name, value in attributes
                       if name in ("src", "href", "srcset", "action", "data")]


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp())
        cls.runs = []
        for system in ("pytorch", "downpour", "easgd"):
            for seed in (1, 2):
                folder = cls.scratch / f"{system}-{seed}<script>"
                made = shoal("simulate", "--like", system, "--seed", seed, *TASK, "--out", folder)
                assert made.returncode == 0, made.stdout + made.stderr
                cls.runs.append(folder)
        cls.page = cls.scratch / "out" / "report.html"
        cls.made = shoal("report", *cls.runs, "--out", cls.page)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def opened(self, *options):
        """The page in a browser after its scripts have run, and the browser's messages."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
                 "--virtual-time-budget=5000", *options, "--dump-dom", self.page.as_uri()],
                capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Page(done.stdout), done.stderr

    def test_a_page_and_a_table_are_made(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        self.assertIn("report.html", self.made.stdout)
        with open(self.page.parent / "table.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["system"] for row in rows], ["pytorch", "downpour", "easgd"])
        self.assertTrue(all(row["runs"] == "2" and float(row["test_accuracy"]) > 0.5 for row in rows), rows)

    def test_nothing_is_loaded(self):
        page = Page(self.page.read_text())
        self.assertEqual(page.loads, [])
        self.assertIn("default-src 'none'", self.page.read_text())

    @unittest.skipUnless(CHROMIUM, "there is no chromium")
    def test_every_chart_is_drawn_in_a_browser(self):
        for options in ([], ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"], ["--window-size=400,800"]):
            with self.subTest(options=options):
                page, said = self.opened(*options)
                self.assertEqual(page.root.get("data-report"), "ready", said)
                for chart in CHARTS:
                    canvas = page.by_id[chart]
                    self.assertEqual(canvas.get("data-state"), "drawn", f"{chart}: {canvas}")
                    self.assertGreater(int(canvas["data-points"]), 2, f"{chart}: {canvas}")
                self.assertNotIn("CONSOLE", said)
                self.assertFalse(re.search(r"ERR_|net_error", said), said)

    def test_text_writes_nothing(self):
        before = sorted(self.page.parent.iterdir())
        done = shoal("report", *self.runs, "--text", "--out", self.page.parent / "other.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("easgd", done.stdout)
        self.assertEqual(sorted(self.page.parent.iterdir()), before)

    def test_what_is_no_run_is_refused(self):
        half = self.scratch / "half"
        shutil.copytree(self.runs[0], half, dirs_exist_ok=True)
        (half / "summary.json").unlink()
        bad = self.scratch / "bad"
        shutil.copytree(self.runs[0], bad, dirs_exist_ok=True)
        (bad / "metrics.jsonl").write_text("nonsense\n")
        for arguments, words in (([], "name the folders"), ([self.scratch / "nowhere"], "no such folder"),
                                 ([self.scratch], "not the folder of a run"), ([half], "has not ended"),
                                 ([bad], "none of its 1 lines"), ([self.runs[0], "--target", "-1"], "--target")):
            with self.subTest(words=words):
                done = shoal("report", *arguments, "--text")
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(words, done.stderr)

    def test_metrics_that_were_cut_off_do(self):
        torn = self.scratch / "torn"
        shutil.copytree(self.runs[0], torn, dirs_exist_ok=True)
        lines = (torn / "metrics.jsonl").read_text()
        (torn / "metrics.jsonl").write_text(lines[:-40])
        done = shoal("report", torn, "--text")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("are incomplete", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
