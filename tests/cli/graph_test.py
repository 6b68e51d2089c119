#!/usr/bin/env python3
"""Proves the tool's verbs for graphs: plan, run, diff, explain; streams, exit codes, traces."""

import html.parser
import json
import os
import pty
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree

TOOL = os.environ["SOMA_TOOL"]
MODEL = os.environ["SOMA_TEST_MODEL"]
REVIEW = "examples/graphs/review.json"
ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60

# The worked example of a graph document, with built-in ops and what an arm needs.
WORKED = {
    "soma": "graph", "version": 1,
    "nodes": [
        {"id": "load", "kind": "function", "op": "std.identity",
         "outputs": [{"name": "out", "dtype": "f32", "shape": ["batch", 128]}]},
        {"id": "score", "kind": "function", "op": "std.identity",
         "inputs": [{"name": "in", "dtype": "f32", "shape": ["batch", 128], "required": True}],
         "differentiable": True, "cacheable": True, "deterministic": True, "waits": False,
         "cost_us": 12.5, "target": {"tag": "gpu"}, "device": "cpu", "state": "c3RhdGU=",
         "config": {}},
        {"id": "gate", "kind": "branch", "op": "std.identity"},
        {"id": "refine", "kind": "loop", "max_iterations": 4, "until": "body_terminal"},
        {"id": "grow", "op": "std.add", "config": {"value": 1}},
        {"id": "enough", "op": "std.test", "config": {"predicate": "it >= 3"}},
        {"id": "deploy", "op": "std.const", "config": {"value": 0}},
        {"id": "retrain", "op": "std.get", "config": {"path": "it.score"}}],
    "edges": [
        {"from": "load", "to": "score"}, {"from": "score", "to": "gate"},
        {"from": "gate", "to": "deploy", "kind": "control", "arm": "score > 0.8"},
        {"from": "gate", "to": "retrain", "kind": "control", "arm": "else"},
        {"from": "refine", "to": "grow", "kind": "control"},
        {"from": "grow", "to": "enough"}]}
WORKED["nodes"][3]["carry_from"] = "grow"


def soma(*arguments, text=None):
    return subprocess.run([TOOL, *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=LIMIT_S)


def node(id, op=None, **more):
    return {"id": id, **({"op": f"std.{op}"} if op else {}), **more}


def sleep(id, ms):
    return node(id, "sleep", config={"ms": ms})


def graph(nodes, *edges):
    """edges: "a>b" for data, or dicts."""
    read = [dict(zip(("from", "to"), edge.split(">"))) if isinstance(edge, str) else edge
            for edge in edges]
    return {"soma": "graph", "version": 1, "nodes": nodes, "edges": read}


def owned(start, end, **more):
    return {"from": start, "to": end, "kind": "control", **more}


CHAIN = graph([node("a", "identity"), node("b", "add", config={"value": 1})], "a>b")
CYCLE = graph([node("a"), node("b"), node("c"), node("x", "add")], "b>c", "c>b", "a>b")
LOOP = graph([node("refine", kind="loop", max_iterations=9, until={"when_signaled": "judge"},
                   carry_from="grow"),
              node("grow", "add", config={"value": 2}),
              node("judge", "test", config={"predicate": "it >= 7"})],
             owned("refine", "grow"), "grow>judge")


class Shared(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, content, name="graph.json"):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    def done(self, *arguments, text=None):
        result = soma(*arguments, text=text)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def fails(self, code, *arguments, text=None):
        result = soma(*arguments, text=text)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def value(self, document, given=None, *more):
        return json.loads(self.done("run", self.file(document), "--input", "-", *more,
                                    text=json.dumps(given)).stdout)


class Plan(Shared):
    def test_the_worked_example(self):
        self.assertEqual(self.done("plan", self.file(WORKED)).stdout, """\
Parallel:
  Sequence:
    Execute(load)
    Remote(score, target=gpu):
      Execute(score)
    Execute(gate)
    Branch(gate):
      [score > 0.8]:
        Execute(deploy)
      [else]:
        Execute(retrain)
  Loop(refine, max=4, until=enough, carry=grow):
    Sequence:
      Execute(grow)
      Execute(enough)
""")

    def test_formats(self):
        path = self.file(LOOP)
        document = json.loads(self.done("plan", path, "--json").stdout)
        self.assertEqual((document["soma"], document["version"]), ("plan", 1))
        self.assertEqual(document["plan"]["loop"]["until"], {"when_signaled": "judge"})
        self.assertEqual(self.done("plan", path, "--format", "json").stdout,
                         self.done("plan", path, "--json").stdout)
        self.assertEqual(self.done("plan", path).stdout,
                         self.done("plan", path, "--format", "tree").stdout)
        self.assertTrue(self.done("plan", path, "--format", "mermaid").stdout
                        .startswith("flowchart TD\n"))
        self.assertTrue(self.done("plan", path, "--format=dot").stdout.startswith("digraph"))

    def test_options_of_the_compiler(self):
        stream = graph([node("a", "identity", stream_mode="stateless"),
                        node("b", "identity", stream_mode="stateless")], "a>b")
        self.assertIn("Stream(a, b, chunk=8)",
                      self.done("plan", self.file(stream), "--chunk", "8").stdout)
        self.assertIn("[stream.chunk_size]", self.fails(1, "plan", self.file(stream), "--chunk", 0))
        tied = graph([node(id, "identity") for id in "abcd"], "a>c", "a>d", "b>d")
        self.assertIn("Dataflow:",
                      self.done("plan", self.file(tied), "--parallelize-dag").stdout)
        self.assertNotIn("Dataflow:", self.done("plan", self.file(tied)).stdout)
        soft = graph([node(id, "identity", differentiable=True) for id in "ab"], "a>b")
        self.assertIn("Composite(a, b)",
                      self.done("plan", self.file(soft), "--mode", "differentiable").stdout)

    def test_warnings_and_hints_go_to_stderr_with_their_codes(self):
        result = self.done("plan", self.file(graph([node("a"), node("b")])), "--json")
        json.loads(result.stdout)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r"graph\.json: warning: .*'a'.* \[graph\.isolated_node\]$")
        self.assertRegex(lines[2], r"graph\.json: info: .* \[graph\.several_leaves\]$")
        full = self.done("plan", self.folder / "graph.json", "--explain").stderr
        self.assertRegex(full, r"\[graph\.isolated_node\]\n  hint: .+\n  nodes: a\n")

    def test_everything_wrong_is_said_at_once(self):
        for more in ([], ["--json"], ["--explain"]):
            said = self.fails(1, "plan", self.file(CYCLE), *more)
            self.assertRegex(said, r"error: .*'b'.*'c'.* \[graph\.cycle\]\n  hint: ")
            self.assertRegex(said, r"error: .*'x'.* \[graph\.config\]")
            self.assertRegex(said, r"warning: .*'x'.* \[graph\.isolated_node\]")
            self.assertEqual(said.splitlines()[-1],
                             f"soma: {self.folder}/graph.json: no plan, because of 2 errors")
        self.assertIn("  edges: c -> b, b -> c\n", said)

    def test_a_plan_document_is_shown_as_it_is(self):
        plan = self.file(self.done("plan", self.file(LOOP), "--json").stdout, "plan.json")
        self.assertEqual(self.done("plan", plan).stdout,
                         self.done("plan", self.folder / "graph.json").stdout)
        self.assertIn("a plan already", self.fails(2, "plan", plan, "--mode", "no_cache"))


SVG = "{http://www.w3.org/2000/svg}"
WILD = ["\u001b[2J\u009b\u007f", "]]><title><script>alert('&\"')", "\u202edetrever\u2066",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20, "\u05e9\u05dc\u05d5\u05dd",
        "x" * 100_000, "\ufffe\uffff\ufeff", "a\n\tb", "&#0;&nbsp;--><!--", "\u0627\u0644\u0633"]
END_OF_ALL = {"value": "</title></svg></dd></style></script>"}


class Pictures(Shared):
    def svg(self, document, *more):
        text = self.done("plan", self.file(document), "--format", "svg", *more).stdout
        return ElementTree.fromstring(text)  # refuses what is no XML

    def words(self, svg):
        return [each.text for each in svg.iter(f"{SVG}text")]

    def test_what_is_in_the_plan_is_in_the_picture(self):
        svg = self.svg(WORKED)
        words = self.words(svg)
        for word in ("load", "score", "std.identity · 12.5 µs", "branch gate", "score > 0.8",
                     "else", "deploy", "loop refine", "max=4, until=enough, carry=grow", "remote",
                     "target=gpu"):
            self.assertEqual(words.count(word), 1, word)
        facts = [each.text for each in svg.iter(f"{SVG}title")]
        self.assertIn('id: retrain\nop: std.get\nconfig: {"path":"it.score"}', facts)
        self.assertEqual(len(facts), 7)  # all nodes but the loop's own
        width, height = float(svg.get("width")), float(svg.get("height"))
        self.assertEqual(svg.get("viewBox"), f"0 0 {width:.0f} {height:.0f}")
        for box in svg.iter(f"{SVG}rect"):
            self.assertLessEqual(float(box.get("x", 0)) + float(box.get("width")), width)
            self.assertLessEqual(float(box.get("y", 0)) + float(box.get("height")), height)

    def test_wild_ids_are_words_and_nothing_else(self):
        nodes = [node(each, "const", config=END_OF_ALL) for each in WILD]
        svg = self.svg(graph(nodes, *({"from": WILD[0], "to": each} for each in WILD[1:])))
        self.assertEqual({each.tag for each in svg.iter()},
                         {SVG + tag for tag in ("svg", "style", "rect", "path", "g", "title",
                                                "text")})
        words = "".join(self.words(svg))
        for shown in ("\\u001b[2J\\u009b\\u007f", "\\u202edetrever\\u2066", "]]><title><script>",
                      "\u05e9\u05dc\u05d5\u05dd", "x" * 32 + "…", "\\ufffe\\uffff\\ufeff",
                      "a\\u000a\\u0009b", "&#0;&nbsp;--><!--"):
            self.assertIn(shown, words)
        self.assertNotRegex(words, "[\u001b\u007f\u009b\u202e\u2066\ufffe\uffff\ufeff]")

    def test_a_page_is_whole_by_itself(self):
        nodes = [node(each, "const", config=END_OF_ALL) for each in WILD]
        path = self.folder / "plan.html"
        result = self.done("plan", self.file(graph(nodes)), "--format", "html", "-o", path)
        self.assertEqual(result.stdout, "")
        page = path.read_text("utf-8")
        tags, open_tags, anchors, links = set(), [], set(), set()

        class Reader(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                tags.add(tag)
                known = dict(attributes)
                anchors.add(known.get("id"))
                links.add(known.get("href"))
                self_closing = tag in ("meta", "rect", "path")
                open_tags.extend([] if self_closing else [tag])

            def handle_startendtag(self, tag, attributes):
                tags.add(tag)

            def handle_endtag(self, tag):
                assert open_tags.pop() == tag, tag
        Reader().feed(page)
        self.assertEqual(open_tags, [])
        self.assertLessEqual(tags, set("html head meta title style body header figure svg rect "
                                       "path g a text nav details summary p aside dl dt dd"
                                       .split()))
        self.assertEqual(links - {None, "#"}, {f"#{each}" for each in anchors if each})
        self.assertEqual(len(links), 2 + len(WILD))
        elsewhere = r'\bsrc=|url\(|@import|https?:(?!//www\.w3\.org/2000/svg")'
        self.assertEqual(re.findall(elsewhere, page), [])

    def test_large_plans_say_what_they_leave_out(self):
        svg = self.svg(graph([node(f"n{number}") for number in range(100_000)]))
        self.assertIn("… 98001 more", self.words(svg))
        self.assertIn("1999 of 100000 nodes are shown", self.words(svg))

    def test_a_file_that_can_not_be_written(self):
        for path in (self.folder / "no" / "plan.svg", "/dev/full"):
            self.assertIn("can't be written", self.fails(1, "plan", self.file(CHAIN), "-o", path))

    def test_the_picture_of_the_example_is_up_to_date(self):
        made = self.done("plan", ROOT / REVIEW, "--format", "svg").stdout
        self.assertEqual((ROOT / REVIEW).with_suffix(".svg").read_text("utf-8"), made)


class BinaryForm(Shared):
    def binary(self, document=LOOP):
        path = self.folder / "plan.bin"
        self.done("plan", self.file(document), "--format", "binary", "-o", path)
        return path

    def test_all_that_reads_plans_reads_it(self):
        path = self.binary()
        self.assertEqual(self.done("run", path, "--input", "-", text="0").stdout, "8\n")
        for verb in (["plan"], ["plan", "--json"], ["explain", "--stage=plan"]):
            self.assertEqual(self.done(verb[0], path, *verb[1:]).stdout,
                             self.done(verb[0], self.folder / "graph.json", *verb[1:]).stdout)
        self.assertEqual(self.done("diff", path, self.folder / "graph.json").stdout, "")
        again = subprocess.run([TOOL, "plan", path, "--format", "binary"], capture_output=True,
                               check=True, timeout=LIMIT_S)
        self.assertEqual(again.stdout, path.read_bytes())

    def test_damage_is_an_error_that_says_so(self):
        whole = self.binary().read_bytes()
        for damaged, code in ((whole[:-1], "document.corrupt"), (whole[:20], "document.corrupt"),
                              (whole + b"x", "document.corrupt"),
                              (whole[:50] + b"?" + whole[51:], "document.corrupt"),
                              (whole[:8] + b"\x07" + whole[9:], "document.version"),
                              (whole[:6], "document.")):
            path = self.folder / "damaged.bin"
            path.write_bytes(damaged)
            for verb in (["plan", path], ["run", path], ["diff", path, path]):
                with self.subTest(code=code, size=len(damaged), verb=verb[0]):
                    said = self.fails(1, *verb)
                    self.assertIn("damaged.bin: ", said)
                    if len(damaged) > 8:
                        self.assertIn(f"[{code}", said)


class Documents(Shared):
    def test_what_is_not_a_strict_document_is_refused(self):
        good = json.dumps(CHAIN)
        for content, code in (
                ("", "document.syntax"), ("{", "document.syntax"), ("[1,]", "document.syntax"),
                ("\ufeff" + good, "document.syntax"), (good + "x", "document.syntax"),
                (good.replace('"version": 1', '"version": 2'), "document.version"),
                (good.replace('"op"', '"operation"'), "document.unknown_key"),
                (good.replace('"nodes": [', '"nodes": 1, "knots": ['), "document.type"),
                (good.replace('"id": "a"', '"id": "a", "id": "c"'), "document.duplicate_key"),
                (good.replace('"soma": "graph"', '"soma": "plan"'), "document."),
                (good.replace('"soma": "graph"', '"soma": "picture"'), "document.type"),
                (good.replace('"id": "a"', '"id": "a", "kind": "wish"'), "graph.unknown_kind"),
                ("[" * 100_000, "document.")):
            path = self.file(content)
            for verb in (["plan", path], ["run", path], ["plan", path, "--json"],
                         ["diff", path, path]):
                with self.subTest(content=content[:40], verb=verb[0]):
                    said = self.fails(1, *verb)
                    self.assertIn(f"[{code}", said)
                    self.assertIn("graph.json: ", said)

    def test_all_problems_of_a_document_are_said(self):
        said = self.fails(1, "plan", self.file({**CHAIN, "colour": 1, "nodes": [{"id": 5}]}))
        self.assertIn("colour", said)
        self.assertIn("nodes[0]", said)

    def test_a_file_that_can_not_be_read(self):
        self.assertIn("[file.not_found]", self.fails(1, "plan", self.folder / "none.json"))
        self.assertIn("[file.io]", self.fails(1, "run", self.folder))


class Run(Shared):
    def test_the_worked_example(self):
        self.assertEqual(self.done("run", self.file({**WORKED, "nodes": [
            {**each, "target": "local"} if each["id"] == "score" else each
            for each in WORKED["nodes"]], "edges": WORKED["edges"][:4]
            + [{"from": "retrain", "to": "refine"}] + WORKED["edges"][4:]}),
            "--input", self.file({"score": 0.5}, "input.json")).stdout, '{"refine":3.5}\n')

    def test_a_loop_carries_its_value(self):
        self.assertEqual(self.value(LOOP, 0), 8)
        self.assertEqual(self.value(LOOP, 6.5), 8.5)

    def test_a_branch_takes_one_arm(self):
        gate = graph([node("gate", "identity", kind="branch"),
                      node("low", "const", config={"value": "low"}),
                      node("high", "const", config={"value": "high"})],
                     owned("gate", "low", arm="score <= 0.5"), owned("gate", "high", arm="else"))
        self.assertEqual(self.value(gate, {"score": 0.5}), {"low": "low"})
        self.assertEqual(self.value(gate, {"score": 0.6}), {"high": "high"})

    def test_subgraphs_joins_and_leaves(self):
        inner = graph([node("a", "add", config={"value": 1}), node("b", "add",
                                                                   config={"value": 2})])
        outer = graph([node("both", kind="subgraph", graph=inner), node("sum", "sum"),
                       node("left", "identity"), node("right", "identity")],
                      "both>sum", "sum>left", "sum>right")
        self.assertEqual(self.value(outer, 10), {"left": 23, "right": 23})

    def test_the_value_is_one_line_and_alone_on_stdout(self):
        result = self.done("run", self.file(graph([node("a", "identity"), node("b", "identity")])),
                           "--json", "--input", "-", text='{"ü": [1, 2.5,\n "\\n"]}')
        self.assertEqual(result.stdout.count("\n"), 1)
        self.assertTrue(result.stdout.startswith('{"a":{"ü":[1,2.5,'))
        self.assertEqual(json.loads(result.stdout), dict.fromkeys("ab", {"ü": [1, 2.5, "\n"]}))
        self.assertIn("[graph.isolated_node]", result.stderr)
        self.assertEqual(self.done("run", self.file(graph([node("a", "identity")]))).stdout,
                         "null\n")

    def test_a_plan_document_runs_without_its_graph(self):
        plan = self.done("plan", self.file(LOOP), "--json").stdout
        self.assertEqual(self.value(json.loads(plan), 0), 8)

    def test_a_failure_names_the_node_its_path_and_the_reason(self):
        said = self.fails(1, "run", self.file(LOOP), "--input", self.file("true", "input.json"))
        self.assertIn("[run.node_failed]", said)
        self.assertIn("\n  node grow, path refine[1]/grow\n", said)
        self.assertIn("[run.input]", said)
        stopped = graph([node("never", "fail", config={"message": "as it says"})])
        self.assertIn("as it says", self.fails(1, "run", self.file(stopped)))

    def test_run_time_errors_have_their_codes(self):
        gate = graph([node("gate", "identity"), node("a", "identity")],
                     owned("gate", "a", arm="it > 1"))
        for document, given, code in (
                (gate, "0", "run.no_arm"), (gate, '"text"', "run.predicate"),
                (graph([node("a", "identity") | {"op": "mine"}, node("b") | {"op": "yours"}],
                       "a>b"), "0", "run.unbound_op"),
                (graph([node("l", kind="loop", max_iterations=2), node("s", "identity")],
                       owned("l", "s")), "5", "run.signal"),
                (graph([node("a", "identity", target={"tag": "gpu"})]), "0", "run.no_transport"),
                (CYCLE, "0", "graph.cycle"), (CHAIN, "{", "document.syntax")):
            with self.subTest(code):
                self.assertIn(f"[{code}]", self.fails(1, "run", self.file(document), "--input", "-",
                                                      text=given))

    def test_remote_parts_run_here_if_told_so(self):
        remote = graph([node("a", "add", config={"value": 1}, target={"tag": "gpu"})])
        self.assertEqual(self.value(remote, 1, "--remote", "inline"), 2)

    def test_long_runs_say_on_stderr_how_far_they_are(self):
        nodes = [sleep(name, 800) for name in "abcd"]
        path = self.file(graph(nodes, "a>b", "b>c", "c>d"))
        quiet = subprocess.Popen([TOOL, "run", path, "--json"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        result = self.done("run", path)
        self.assertEqual(result.stdout, "null\n")
        self.assertRegex(result.stderr, r"\A(run \d+ %, about \d+ s left\n)+\Z")
        self.assertEqual(quiet.communicate(timeout=LIMIT_S), ("null\n", ""))

    def test_short_runs_say_nothing(self):
        self.assertEqual(self.done("run", self.file(graph([sleep("a", 100)]))).stderr, "")

    def test_a_terminal_has_a_bar_that_goes_when_the_run_ends(self):
        nodes = [sleep("a", 300) | {"cost_us": 300_000}, sleep("b", 300) | {"cost_us": 300_000}]
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with subprocess.Popen([TOOL, "run", self.file(graph(nodes, "a>b"))], stderr=theirs,
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.communicate(timeout=LIMIT_S)[0], "null\n")
        os.close(theirs)
        shown = os.read(ours, 1 << 16).decode()
        self.assertRegex(shown, r"\rrun      \[#{12}\.{13}\] 50 %, about 1 s left\033\[K")
        self.assertTrue(shown.endswith("\r\033[K"))

    def test_interrupt_stops_with_130(self):
        trace = self.folder / "trace.json"
        path = self.file(graph([sleep("long", 60_000), node("after", "identity")], "long>after"))
        process = subprocess.Popen([TOOL, "run", path, "--trace", trace], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        until = time.monotonic() + LIMIT_S
        while not trace.exists() and time.monotonic() < until:  # from then on it is interruptible
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        out, said = process.communicate(timeout=LIMIT_S)
        self.assertEqual((process.returncode, out), (130, ""))
        self.assertIn("[cancelled]", said)
        self.assertLess(time.monotonic() - begin, 10)
        json.loads(trace.read_text("utf-8"))  # whole, also of what was stopped


class Traces(Shared):
    def trace(self, document, given="null", code=0):
        path = self.folder / "trace.json"
        result = soma("run", self.file(document), "--trace", path, "--input", "-",
                      text=given)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(path.read_text("utf-8"))["traceEvents"]

    def test_one_bar_for_each_time_a_node_ran(self):
        events = self.trace(LOOP, "3")
        bars = [each for each in events if each["ph"] == "X"]
        self.assertEqual([(each["name"], each["args"]["path"]) for each in bars],
                         [("refine", "refine"), ("grow", "refine[1]/grow"),
                          ("judge", "refine[1]/judge"), ("grow", "refine[2]/grow"),
                          ("judge", "refine[2]/judge")])
        for each in bars[1:]:
            self.assertGreaterEqual(each["ts"], bars[0]["ts"])
            self.assertLessEqual(each["ts"] + each["dur"], bars[0]["ts"] + bars[0]["dur"] + 0.001)
        names = {each["tid"]: each["args"]["name"] for each in events
                 if each["name"] == "thread_name"}
        self.assertEqual(names[0], "caller")
        self.assertLessEqual({each["tid"] for each in bars}, set(names))

    def test_an_arrow_for_each_value(self):
        events = self.trace(LOOP, "3")
        bars = [each for each in events if each["ph"] == "X"]
        ends = {(each["name"], round(each["ts"] + each["dur"], 3)) for each in bars}
        arrows = {each["id"]: each for each in events if each["ph"] == "s"}
        heads = {each["id"]: each for each in events if each["ph"] == "f"}
        self.assertEqual(set(arrows), set(heads))
        self.assertEqual(len(arrows), 2)  # from grow to judge, in each pass
        for number, head in heads.items():
            self.assertIn(("grow", round(arrows[number]["ts"], 3)), ends)
            self.assertIn(("judge", head["ts"]), {(each["name"], each["ts"]) for each in bars})

    def test_paths_of_nested_loops_and_branches(self):
        nested = graph([node("outer", kind="loop", max_iterations=2, until="exhaust"),
                        node("inner", kind="loop", max_iterations=2, until="exhaust"),
                        node("leaf", "identity"), node("gate", "identity"),
                        node("yes", "identity")],
                       owned("outer", "inner"), owned("inner", "leaf"), "inner>gate",
                       owned("gate", "yes", arm="it > 0"))
        paths = [each["args"]["path"] for each in self.trace(nested, "1") if each["ph"] == "X"]
        for want in ("outer[2]/inner[1]/leaf", "outer[1]/inner", "outer[2]/yes", "outer[1]/gate"):
            self.assertIn(want, paths)

    def test_a_node_that_fails_says_so(self):
        events = self.trace(graph([node("a", "identity"), node("b", "fail",
                                                               config={"message": "no"})], "a>b"),
                            code=1)
        self.assertEqual([each for each in events if each["ph"] == "X"][-1]["args"]["error"],
                         "run.node_failed")

    def test_a_file_that_can_not_be_written(self):
        said = self.fails(1, "run", self.file(CHAIN), "--trace", self.folder / "no" / "t.json")
        self.assertIn("can't be written", said)
        result = soma("run", self.file(graph([node("a", "identity")])), "--trace", "/dev/full")
        self.assertEqual((result.returncode, result.stdout), (1, "null\n"))
        self.assertIn("can't be written", result.stderr)


class Diff(Shared):
    def test_lines_and_json(self):
        before = self.file(graph([node("a", "identity"), node("b", "add", config={"value": 1}),
                                  node("c", "identity")], "a>b", "b>c"), "before.json")
        after = self.file(graph([node("a", "identity"), node("b", "add", config={"value": 2}),
                                 node("d", "identity")], "a>b", "a>d"), "after.json")
        lines = self.done("diff", before, after).stdout.splitlines()
        self.assertIn("removed c: sequence[2]", lines)
        self.assertIn("added d: sequence[1] > parallel[1]", lines)
        self.assertIn('changed b config: {"value":1} -> {"value":2}', lines)
        found = json.loads(self.done("diff", before, after, "--json").stdout)
        self.assertEqual(set(found), {"plan", "removed", "added", "moved", "changed"})
        self.assertEqual([each["id"] for each in found["changed"]], ["b"])
        swapped = self.file(graph([node(id, "identity") for id in "abc"], "a>c", "c>b"))
        ordered = self.file(graph([node(id, "identity") for id in "abc"], "a>b", "b>c"), "x.json")
        self.assertIn("moved b: sequence[2] -> sequence[1]\n",
                      self.done("diff", swapped, ordered).stdout)

    def test_a_graph_and_its_plan_are_the_same(self):
        path = self.file(LOOP)
        plan = self.file(self.done("plan", path, "--json").stdout, "plan.json")
        for pair in ((path, plan), (plan, path), (plan, plan)):
            self.assertEqual(self.done("diff", *pair).stdout, "")
        self.assertIn("plan mode: ", self.done("diff", plan, path, "--mode", "no_cache").stdout)

    def test_the_exit_code_tells_scripts_whether_they_differ(self):
        path, other = self.file(LOOP), self.file(graph([node("a", "identity")]), "other.json")
        self.assertEqual(self.done("diff", path, path, "--exit-code").stdout, "")
        for more in ([], ["--json"]):
            ended = soma("diff", path, other, "--exit-code", *more)
            self.assertEqual((ended.returncode, ended.stderr), (1, ""))
            self.assertEqual(ended.stdout, self.done("diff", path, other, *more).stdout)

    def test_one_without_a_plan_is_a_failure(self):
        self.assertIn("[graph.cycle]", self.fails(1, "diff", self.file(LOOP),
                                                  self.file(CYCLE, "cycle.json")))


class Explain(Shared):
    def test_stages_of_a_graph(self):
        path = self.file(graph([node("a"), node("b")]))
        said = self.done("explain", path, "--stage=diagnostics")
        self.assertRegex(said.stdout, r"^warning: .* \[graph\.isolated_node\]\n  hint: ")
        tree = self.done("plan", path).stdout
        self.assertEqual(self.done("explain", path, "--stage=plan").stdout, tree)
        self.assertEqual(self.done("explain", path).stdout, said.stdout + tree)
        found = json.loads(self.done("explain", path, "--stage=diagnostics", "--json").stdout)
        self.assertEqual([each["code"] for each in found["diagnostics"]],
                         ["graph.isolated_node"] * 2 + ["graph.several_leaves"])
        self.assertEqual(set(json.loads(self.done("explain", path, "--json").stdout)),
                         {"diagnostics", "left_out", "plan"})

    def test_diagnostics_of_a_graph_that_has_no_plan(self):
        path = self.file(CYCLE)
        self.assertIn("[graph.cycle]", self.done("explain", path, "--stage=diagnostics").stdout)
        self.assertIn("[graph.cycle]", self.fails(1, "explain", path, "--stage=plan"))
        self.assertIn("[graph.cycle]", self.fails(1, "explain", path, "--json"))
        result = soma("explain", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("[graph.cycle]", result.stdout)

    def test_stages_of_the_other_kind_are_wrong_usage(self):
        path = self.file(CHAIN)
        for wrong in (["explain", path, "--stage=circuit"], ["explain", path, "--why", "a"],
                      ["explain", path, "--rows", "2"], ["explain", MODEL, "--stage=plan"],
                      ["explain", MODEL, "--json"], ["explain", MODEL, "--chunk", "2"]):
            self.fails(2, *wrong)


class Cost(Shared):
    GRAPH = graph([node("a", "identity", cost_us=5), node("b", "identity", cost_us=10),
                   node("c", "add", config={"value": 1})], "a>b", "a>c")

    def test_what_nodes_declare_and_what_was_measured(self):
        path = self.file(self.GRAPH)
        self.assertEqual(self.done("explain", path, "--stage=cost").stdout,
                         "total          at least 15 us with as many threads as it can use\n"
                         "critical path  at least 15 us\nwork           at least 15 us\n"
                         "unknown        c\n")
        times = self.file({"nodes": {"c": 20}}, "times.json")
        self.assertEqual(self.done("explain", path, "--stage=cost", "--measured", times,
                                   "--threads", "1").stdout,
                         "total          35 us with 1 thread\n"
                         "critical path  25 us\nwork           35 us\n")
        found = json.loads(self.done("explain", path, "--stage=cost", "--json").stdout)
        self.assertEqual(found, {"total_us": None, "known_us": 15, "critical_path_us": 15,
                                 "work_us": 15, "threads": 0, "unknown": ["c"]})

    def test_what_it_can_not_read(self):
        path, wrong = self.file(self.GRAPH), self.file({"nodes": {"c": -1}}, "times.json")
        cost = ["explain", path, "--stage=cost"]
        self.assertIn("[document.type]", self.fails(1, *cost, "--measured", wrong))
        self.assertIn("[file.not_found]", self.fails(1, *cost, "--measured",
                                                       self.folder / "none.json"))
        self.fails(2, *cost, "--threads", "few")
        self.fails(2, "explain", MODEL, "--measured", wrong)
        self.fails(2, "explain", MODEL, "--stage=cost")


class Terminals(Shared):
    def test_an_id_commands_no_terminal(self):
        wild = "\u001b[2J\u009b\u007f"
        good = self.file(graph([node(wild, "fail", config={"message": wild}, target="local"),
                                node("b" + wild, "identity")], f"{wild}>b{wild}"), "good.json")
        bad = self.file(graph([node(wild, "add"), node("b")], f"{wild}>{wild}"), "bad.json")
        other = self.file(CHAIN)
        for arguments in (["plan", good], ["plan", good, "--format=mermaid"], ["run", good],
                          ["plan", good, "--format=dot"], ["diff", good, other],
                          ["plan", good, "--format=svg"], ["plan", good, "--format=html"],
                          ["diff", other, good], ["plan", bad, "--explain"], ["explain", bad],
                          ["explain", good]):
            with self.subTest(arguments[:1] + arguments[2:]):
                result = soma(*arguments)
                self.assertTrue(result.stdout + result.stderr)
                self.assertNotRegex(result.stdout + result.stderr, "[\u001b\u007f\u009b]")


class Usage(Shared):
    def test_wrong_usage_is_2(self):
        path = self.file(CHAIN)
        for wrong in (["plan"], ["run"], ["diff", path], ["plan", path, "--format", "png"],
                      ["plan", path, "--mode", "odd"], ["plan", path, "--chunk", "few"],
                      ["plan", path, "--json", "--format", "tree"], ["run", path, "--remote", "no"],
                      ["run", path, "--threads", "no such flag"], ["run", path, "--timeout", "0"],
                      ["run", path, "--timeout", "-1"], ["run", path, "--timeout", "nan"]):
            with self.subTest(wrong[:1] + wrong[2:]):
                self.fails(2, *wrong)

    def test_help_is_0_for_each_verb(self):
        for verb in ("plan", "run", "diff", "explain"):
            self.assertIn("--json", self.done(verb, "--help").stdout)


class Readme(unittest.TestCase):
    def test_what_it_shows_is_what_comes(self):
        text = (ROOT / "README.md").read_text("utf-8")
        blocks = re.findall(r"^```\n(\$ [^`]*examples/graphs[^`]*?)```$", text, re.M)
        shown = [each for block in blocks
                 for each in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]
        self.assertGreaterEqual(len(shown), 3)
        with tempfile.TemporaryDirectory() as journal:
            for command, output in shown:
                here = command.replace("build/release/soma", TOOL).replace("build/journal", journal)
                done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, cwd=ROOT,
                                      timeout=LIMIT_S, check=True)
                self.assertEqual(done.stdout, output.rstrip("\n") + "\n", command)


class Page(Shared):
    """examples/graphs/README.md: what graph documents may say."""

    text = (ROOT / "examples/graphs/README.md").read_text("utf-8")

    def test_each_example_runs_as_shown(self):
        blocks = re.findall(r"^```(json)?\n(.*?)^```$", self.text, re.M | re.S)
        self.assertGreater(len(blocks), 20)
        tools = f'soma() {{ "{Path(TOOL).resolve()}" "$@"; }}\n'
        (self.folder / "model.gguf").symlink_to(Path(MODEL).resolve())
        for (is_document, document), (is_other, shown) in zip(blocks[::2], blocks[1::2]):
            self.assertTrue(is_document and not is_other, shown)
            (self.folder / "graph.json").write_text(document, "utf-8")
            for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.M):
                done = subprocess.run(["sh", "-c", tools + command], capture_output=True, text=True,
                                      cwd=self.folder, timeout=LIMIT_S, check=True)
                self.assertEqual(done.stdout, output, document + command)

    def test_each_key_and_op_is_told(self):
        keys = (ROOT / "src/value/node_document.hpp").read_text("utf-8").partition("node_keys[]")[2]
        named = re.findall(r'\{"(\w+)"', keys.partition("};")[0])
        ops = re.findall(r'\{"(std\.\w+)"', (ROOT / "src/run/builtins.cpp").read_text("utf-8"))
        self.assertGreater(len(named) + len(ops), 30)
        for word in named + ops:
            if word != "from":   # which nodes have in plans only
                self.assertIn(f"`{word}`", self.text)


if __name__ == "__main__":
    unittest.main()
