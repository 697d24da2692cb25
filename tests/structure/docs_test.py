#!/usr/bin/env python3
"""Do the documents name only what exists (paths, tests, links, flags, make targets, environment variables,
conditions, reasons, metrics)? Do the reference pages list everything? Are lines, tables and words readable? And does a
program read each field of the schemas?

Reads texts alone: no build, no cluster, one second. Run by ctest (docs_test), or by hand:

    python3 tests/structure/docs_test.py
"""

import json
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SKIPPED_FOLDERS = {".git", ".local", "build", "__pycache__", ".pytest_cache"}
PROGRAM_FOLDERS = ("lib", "webhook", "extender", "controller", "server", "cli", "certs", "schemas")

# Flags of programs of other projects, as the documents name them.
FOREIGN_FLAGS = {
    "--admission-control-config-file", "--all", "--all-namespaces", "--audience", "--bump-revision", "--clusterrole", "--create-namespace", "--for", "--force",
    "--current", "--force-conflicts", "--manifest", "--patch-file", "--gang-scheduler-name", "--kube-version", "--reset-then-reuse-values", "--take-ownership", "--values",
    "--cascade", "--help", "--ignore-not-found", "--now", "--replicas", "--selector", "--show-labels", "--timeout", "--type",
    "--user", "--unhealthy-zone-threshold",
}
# CamelCase words of Kubernetes and of other projects, which no program of ours has as a literal.
FOREIGN_WORDS = {"Terminating", "TrainerClient", "JobSubmissionClient"}
# Words in lower_case of other projects.
FOREIGN_NAMES = {"process_request", "stop_job"}
# Fields of a schema that are for people or for the API server: no program of ours reads them.
UNREAD_FIELDS = {
    "apiVersion", "kind", "metadata",  # of every object
    "group",  # spec.group: free text of the user
}


# What the tree has ------------------------------------------------------------------------------------

def files_below(folder=""):
    for where, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(where, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def without_comments(cpp):
    return re.sub(r"^\s*//.*$", "", cpp, flags=re.MULTILINE)


def catch2_tests(cpp):
    names = re.findall(r'TEST_CASE\(\s*((?:"[^"]*"\s*)+)', cpp)
    return {"".join(re.findall(r'"([^"]*)"', name)) for name in names}


class Tree:
    """What the documents may name."""

    def __init__(self):
        self.files = set(files_below())
        self.folders = {"/".join(path.split("/")[:depth]) for path in self.files for depth in range(1, path.count("/") + 1)}
        self.tops = {path.split("/")[0] for path in self.files if "/" in path}
        self.stems = {os.path.splitext(os.path.basename(path))[0] for path in self.files}
        self.cpp = {path: without_comments(read(path)) for path in self.files
                    if path.endswith((".cpp", ".h")) and path.startswith(tuple(f + "/" for f in PROGRAM_FOLDERS))}
        self.literals = set(re.findall(r'"([^"\\\n]*)"', "\n".join(self.cpp.values())))
        texts = [*self.cpp.values()] + [read(path) for path in self.files if path.startswith(("schemas/", "manifests/", "sdk/"))]
        # Plugins of kube-scheduler: the tests in Go compare them with kube-scheduler's own list.
        texts.append(read("tests/filters/table_test.go"))
        self.words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", "\n".join(texts)))
        self.names = self.words | self.stems | FOREIGN_NAMES | set(re.findall(r"\w+", "\n".join(
            read(path) for path in self.files if path.startswith("tests/") and path.endswith((".py", ".h"))
            and path != "tests/structure/docs_test.py")))
        self.targets = set(re.findall(r"^([a-z][a-z0-9-]*):", read("Makefile"), re.MULTILINE))
        self.flags = {flag for literal in self.literals for flag in re.findall(r"^(?:-\w,)?(--[a-z][a-z0-9-]*)$", literal)}
        scripts = [path for path in self.files if path.startswith((".ci/", "scripts/", "tools/", "bench/", "examples/mock/")) or path == "Makefile"]
        self.flags |= set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", "\n".join(read(path) for path in scripts)))
        self.variables = set(re.findall(r"\bNERVEX_[A-Z0-9_]+", "\n".join(
            read(path) for path in self.files if path.startswith(("scripts/", "tools/", "tests/e2e/", "tests/support/", "tests/programs/")))))
        self.variables |= {"NERVEX_" + flag[2:].replace("-", "_").upper() for flag in self.flags}
        self.variables |= {"NERVEX_MOCK_" + flag[2:].upper() for flag in self.flags}
        self.tests = {test for path in self.files if path.startswith("tests/") and path.endswith(".cpp")
                      for test in catch2_tests(read(path))}

    def has_path(self, path):
        path = path.rstrip("/")
        if path in self.files or path in self.folders:
            return True
        if "*" in path:
            pattern = re.compile(re.escape(path).replace(r"\*", "[^/]*") + "$")
            return any(pattern.match(each) for each in self.files | self.folders)
        return any(path + ending in self.files for ending in (".h", ".cpp", ".py"))


# What the documents say ---------------------------------------------------------------------------------

def documents(tree):
    """Path and text. Of the change log only what is there now: it also names what was removed or renamed."""
    for path in sorted(tree.files):
        if not path.endswith(".md"):
            continue
        text = read(path)
        if path == "CHANGELOG.md":
            text = re.sub(r"^### Removed\n.*?(?=^##|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
            text = re.sub(r"^- Renamed .*?(?=^- )", "", text, flags=re.MULTILINE | re.DOTALL)
        yield path, text


def code_of(text):
    """What stands in backticks, and each line of a fenced block."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", rest)]
    return spans, [line for block in fenced for line in block.splitlines()]


def looks_like_path(name):
    """Not a domain's (nervex.sensetime.com/job-tracking), and not a slot (collector/4096)."""
    return (re.fullmatch(r"[\w.-]+(/[\w.*-]+)+/?|[\w.-]+/", name) and not re.match(r"\w+\.", name)
            and not re.search(r"/\d+$", name) and name.split("/")[0] not in SKIPPED_FOLDERS)


def wrong_paths(tree, path, text):
    spans, lines = code_of(text)
    file = ""
    for span in spans:
        name, _, test = span.partition("::")
        name = file if name == "…" and test else name  # another test of the file that was named last
        file = name if test else file
        if looks_like_path(name):
            near = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if not tree.has_path(name) and not tree.has_path(near):
                yield f"no such path: {name}"
            elif test and not (name in tree.files and has_test(name, test)):
                yield f"no such test: {name}::{test}"
        elif re.fullmatch(r"[\w-]+\.(?:md|cpp|h|py|cmake)", span) and os.path.basename(span) not in {
                os.path.basename(each) for each in tree.files}:
            yield f"no such file: {span}"
    for line in lines:
        for word in re.findall(r"(?<![\w./-])((?:\w[\w-]*/)+[\w.-]+)", line):
            if word.split("/")[0] in tree.tops and not tree.has_path(word):
                yield f"no such path: {word}"


def has_test(file, test):
    text = read(file)
    if file.endswith(".py"):
        return re.search(rf"^\s*def {re.escape(test)}\(", text, re.MULTILINE) is not None
    return test in catch2_tests(text)


def anchors_of(text):
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        yield re.sub(r"[^\w -]", "", title.replace("`", "")).strip().lower().replace(" ", "-")


def wrong_links(tree, path, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not tree.has_path(full):
            yield f"the link leads nowhere: {target}"
        elif anchor and anchor not in anchors_of(text if full == path else read(full)):
            yield f"the link's heading is not there: {target}"


def wrong_tests(tree, path, text):
    """Test names in double quotes, as tables give them, maybe cut by '...'."""
    for row in re.findall(r"^\|.*\|$", text, re.MULTILINE):
        for name in re.findall(r'(?<![`=\w])"([A-Za-z][^"`{}]{12,})"', re.sub(r"`[^`]*`", "", row)):
            start = name[:-3].rstrip() if name.endswith("...") else name
            if " " not in name:
                continue  # an object's name in a message
            if not any(test == name or (start != name and test.startswith(start)) for test in tree.tests):
                yield f'no such test: "{name}"'


def wrong_flags(tree, path, text):
    for flag in sorted(set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*[a-z0-9])", text))):
        if flag not in tree.flags | FOREIGN_FLAGS:
            yield f"no such flag: {flag}"


def wrong_targets(tree, path, text):
    spans, lines = code_of(text)
    for part in spans + lines:
        for target in re.findall(r"(?:^|\s)make ([a-z][a-z0-9-]*)", part.split("#")[0]):
            if target not in tree.targets:
                yield f"no such make target: {target}"


def wrong_variables(tree, path, text):
    for name in sorted(set(re.findall(r"\bNERVEX_[A-Z0-9_]*[A-Z0-9]", text))):
        if name not in tree.variables:
            yield f"no such environment variable: {name}"


def wrong_words(tree, path, text):
    """Conditions, reasons, kinds, types: CamelCase. Metrics and modules: with_underscores."""
    spans, _ = code_of(text)
    for span in spans:
        for word in re.findall(r"^([A-Z][a-z]+(?:[A-Z]+[a-z0-9]*)*)(?:=(?:True|False))?$", span):
            if word not in tree.words | FOREIGN_WORDS:
                yield f"no such condition, reason or kind: {word}"
        if re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+", span):
            metric = re.match(r"(nervex|controller_runtime|workqueue|rest_client|leader_election|process)_", span)
            if span not in (tree.literals | FOREIGN_NAMES if metric else tree.names):
                yield f"no such {'metric' if metric else 'name'}: {span}"


LONGEST_LINE = 120  # of prose
LONGEST_CELL = 200  # of a table

# A sentence with one of these lacks a subject, or is not standard English.
UNCLEAR_WORDS = re.compile(r"\b(nobody|somebody|whatever|whoever|of which|as ever|for ever|anew)\b", re.IGNORECASE)


def prose_of(text):
    """(number, line) of what is neither a fenced block nor a comment for programs."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*```", line):
            fenced = not fenced
        elif not fenced and not line.startswith("<!--"):
            yield number, line


def long_lines(tree, path, text):
    for number, line in prose_of(text):
        if line.lstrip().startswith("|"):
            longest = max(map(len, re.split(r"(?<!\\)\|", line)))
            if longest > LONGEST_CELL:
                yield f"line {number}: a table cell of {longest} characters"
        elif len(line) > LONGEST_LINE and " " in line.strip():
            yield f"line {number}: {len(line)} characters"


def unclear_words(tree, path, text):
    """Code and names of tests may have them."""
    lines = "\n".join(line for _, line in prose_of(text))
    for word in UNCLEAR_WORDS.findall(re.sub(r"`[^`]*`|\"[^\"\n]*\"", "", lines)):
        yield f"unclear word: {word}"


def unlisted_metrics(text):
    """Metrics that the programs serve (tests/golden/metrics) and the text leaves out. Those of the process are known."""
    shown = {name for path in files_below("tests/golden/metrics")
             for name in re.findall(r"^# HELP (\w+)", read(path), re.MULTILINE)}
    return sorted(name for name in shown if not name.startswith("process_") and f"`{name}`" not in text)


CHECKS = (wrong_paths, wrong_links, wrong_tests, wrong_flags, wrong_targets, wrong_variables, wrong_words, long_lines,
          unclear_words)


def mistakes(tree, path, text):
    return [f"{path}: {mistake}" for check in CHECKS for mistake in check(tree, path, text)]


# Fields of the schemas ----------------------------------------------------------------------------------

def fields_of(schema, path=""):
    for name, each in schema.get("properties", {}).items():
        yield f"{path}.{name}", name
        yield from fields_of(each, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from fields_of(schema[key], path + "[]")


def unread_fields(schema, sources):
    """Fields whose name is no literal of the sources."""
    literals = set(re.findall(r'"([^"\\\n]*)"', sources))
    literals |= {part for literal in literals for part in re.split(r"[./]", literal)}
    return [path for path, name in fields_of(schema) if name not in literals | UNREAD_FIELDS]


READERS = {  # who reads the objects of that schema
    "schemas/nervexjob.json": ("lib/job/",),
    "schemas/podgroup.json": ("lib/gang/",),
    "schemas/queue.json": ("lib/queue/", "lib/kube/model/label_selector"),
    "schemas/aggregatorconfig.json": ("controller/", "server/", "lib/job/"),
}


FLAGS = {  # of a section of docs/reference/flags.md: files that define them
    "All programs": ("lib/base/program.cpp",),
    "TLS": ("lib/base/tls/",),
    "Leader election": ("lib/kube/leader/",),
    "nervex-webhook": ("webhook/",),
    "nervex-extender": ("extender/",),
    "nervex-controller": ("controller/",),
    "nervex-server": ("server/",),
}


def listed_flags(text):
    """{section: its flags}, from the first column of its table."""
    sections = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)[1:]
    return {title.partition(":")[0]: re.findall(r"^\| `(--[a-z0-9-]+)` \|", body, re.MULTILINE)
            for title, body in zip(sections[::2], sections[1::2])}


class DocumentsAreTrue(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = Tree()

    def test_the_documents_name_what_exists(self):
        found = [mistake for path, text in documents(self.tree) for mistake in mistakes(self.tree, path, text)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_the_metrics_page_lists_what_the_programs_show(self):
        self.assertEqual(unlisted_metrics(read("docs/reference/metrics.md")), [])
        self.assertIn("nervex_gangs", unlisted_metrics("`nervex_cache_objects`"))

    def test_something_reads_each_field_of_the_schemas(self):
        found = []
        for path, readers in READERS.items():
            sources = "\n".join(text for file, text in self.tree.cpp.items() if file.startswith(readers))
            found += [f"{path}: nothing reads {field}" for field in unread_fields(json.loads(read(path)), sources)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_the_environment_page_lists_the_variables_of_pods(self):
        sources = "\n".join(text for path, text in self.tree.cpp.items()
                            if path.startswith("lib/job/") and os.path.basename(path).startswith(("pod_manifest", "server_token")))
        set_by_us = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', sources))
        listed = set(re.findall(r"^\| `([A-Z_]+)`", read("docs/reference/environment.md"), re.MULTILINE))
        self.assertGreater(len(set_by_us), 10)
        self.assertEqual(set_by_us, listed)

    def test_the_reference_explains_every_condition_reason_and_event(self):
        explained = {name for page in ("conditions", "events") for name in code_of(read(f"docs/reference/{page}.md"))[0]}
        names = set()
        for path, minimum in (("controller/decide/reasons.h", 45), ("lib/kube/model/disruption.h", 7)):
            found = set(re.findall(r'string_view k\w+ = "(\w+)"', self.tree.cpp[path]))
            self.assertGreaterEqual(len(found), minimum, path)
            names |= found
        self.assertEqual(sorted(names - explained), [])

    def test_the_reference_lists_every_flag(self):
        listed = listed_flags(read("docs/reference/flags.md"))
        for section, where in FLAGS.items():
            known = {flag for path, text in self.tree.cpp.items() if path.startswith(where) and path.endswith("flags.cpp")
                     or path in where for flag in re.findall(r'"(--[a-z][a-z0-9-]*)",', text)} - {"--version"}
            self.assertEqual(sorted(known), sorted(listed[section]), section)

    def test_the_reference_lists_every_field_that_users_set(self):
        spec = json.loads(read("schemas/nervexjob.json"))["properties"]["spec"]
        listed = set(re.findall(r"`([a-zA-Z.]+)`", read("docs/reference/job-fields.md")))
        fields = set()
        for name, each in spec["properties"].items():
            inner = each.get("properties", {}) if name in ("coordinator", "collector", "learner") else {}
            fields |= {f"{name}.{one}" for one in inner} or {name}
        self.assertEqual(sorted(fields - listed), [])

    def test_the_reference_lists_every_field_of_a_queue(self):
        queue = json.loads(read("schemas/queue.json"))["properties"]
        listed = set(re.findall(r"`([a-zA-Z]+)`", read("docs/reference/queue-fields.md")))
        fields = set(queue["spec"]["properties"]) | set(queue["status"]["properties"])
        self.assertEqual(sorted(fields - listed), [])

    def test_the_readme_is_short(self):
        self.assertLessEqual(read("README.md").count("\n"), 150)


class MistakesAreFound(unittest.TestCase):
    """The checks can fail: each finds what was planted for it."""

    PLANTED = {
        "see `controller/no_such_file.cpp`": "no such path: controller/no_such_file.cpp",
        "run `certs/issue`": "no such path: certs/issue",
        "in `nothing/`": "no such path: nothing/",
        "```sh\nkubectl apply -k manifests/variants/none\n```\n": "no such path: manifests/variants/none",
        "`tests/e2e/test_kill.py::test_nothing`": "no such test: tests/e2e/test_kill.py::test_nothing",
        "`tests/e2e/test_kill.py::undisturbed`, `…::test_nothing`": "no such test: tests/e2e/test_kill.py::test_nothing",
        "| a | \"A test that was renamed long ago\" |": 'no such test: "A test that was renamed long ago"',
        "[a page](docs/no_page.md)": "the link leads nowhere: docs/no_page.md",
        "[a part](docs/README.md#no-such-heading)": "the link's heading is not there: docs/README.md#no-such-heading",
        "`nervex-server --no-such-flag`": "no such flag: --no-such-flag",
        "run `make nothing`": "no such make target: nothing",
        "`NERVEX_NO_SUCH`": "no such environment variable: NERVEX_NO_SUCH",
        "condition `ReplicasAngry`": "no such condition, reason or kind: ReplicasAngry",
        "`ReplicasAngry=False`": "no such condition, reason or kind: ReplicasAngry",
        "`nervex_no_such_total`": "no such metric: nervex_no_such_total",
        "module `no_such_module`": "no such name: no_such_module",
        "word " * 25: "line 1: 125 characters",
        f"| {'word ' * 41}|": "line 1: a table cell of 206 characters",
        "nobody writes it": "unclear word: nobody",
    }

    @classmethod
    def setUpClass(cls):
        cls.tree = Tree()

    def test_of_documents(self):
        for text, mistake in self.PLANTED.items():
            with self.subTest(text):
                self.assertEqual(mistakes(self.tree, "README.md", text), [f"README.md: {mistake}"])

    def test_of_schemas(self):
        schema = {"properties": {"spec": {"properties": {"read": {}, "list": {"items": {"properties": {"unread": {}}}}}}}}
        self.assertEqual(unread_fields(schema, '"spec" "read" fields.each("list")'), [".spec.list[].unread"])


if __name__ == "__main__":
    unittest.main()
