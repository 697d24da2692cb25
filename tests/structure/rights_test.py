#!/usr/bin/env python3
"""Do the tables of SECURITY.md list exactly the rights that manifests/ and certs/ give to each account?

    python3 tests/structure/rights_test.py
"""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OTHERS = "scheduling.x-k8s.io"  # has a kind of the same name as one of ours
FOREIGN_ROLES = {"system:kube-scheduler", "system:volume-scheduler", "extension-apiserver-authentication-reader"}
VERBS = {"get", "list", "watch", "create", "patch", "update", "delete", "deletecollection"}
# Headings that are not the account's name. Both containers of one pod share a section.
SECTIONS = {"nervex-extender": "nervex-scheduler and nervex-extender", "nervex-scheduler": "nervex-scheduler and nervex-extender",
            "nervex-certs": "nervex-certs (self-issued)"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def manifests():
    """The text of each object: of the parts, not of the file that is generated from them."""
    for root in ("manifests", "certs"):
        for folder, _, names in os.walk(os.path.join(ROOT, root)):
            for name in sorted(names):
                if name.endswith(".yaml") and name != "nervex-manager.yaml":
                    text = read(os.path.join(folder, name))
                    yield from re.split(r"^---$", re.sub(r"(^|\s)#.*", "", text), flags=re.MULTILINE)


def field(text, key):
    found = re.search(rf"^ *(?:- )?{key}: *(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def values(text, key):
    return re.findall(r"[^\s,\[\]\"]+", field(text, key))


def rights_in(role):
    """{(verb, resource)} of a role's text."""
    for rule in re.split(r"^- (?=apiGroups)", role.split("rules:", 1)[1], flags=re.MULTILINE)[1:]:
        suffix = f".{OTHERS}" if OTHERS in rule else ""
        for resource in values(rule, "resources"):
            for verb in values(rule, "verbs"):
                yield verb, resource + suffix


def granted():
    """{account or group: {(verb, resource)}}; roles that aggregate to Kubernetes' own count for their own name."""
    roles, accounts = {}, {}
    objects = list(manifests())
    for text in objects:
        if field(text, "kind") in ("Role", "ClusterRole"):
            roles.setdefault(field(text, "  name"), set()).update(rights_in(text))
    bound = set()
    for text in objects:
        if field(text, "kind") in ("RoleBinding", "ClusterRoleBinding"):
            reference, subjects = text.split("roleRef:")[1].split("subjects:")
            role = field(reference, "name")
            bound.add(role)
            for name in re.findall(r"^ *(?:- )?name: (\S+)$", subjects, re.MULTILINE):
                if role not in FOREIGN_ROLES:
                    accounts.setdefault(name, set()).update(roles[role])
    return accounts, {name: rights for name, rights in roles.items() if name not in bound}


def listed(section):
    """{(verb, resource)} of the rows "| verb, verb | resource, resource: why |" below a heading."""
    for verbs, resources in re.findall(r"^\| ([a-z, ]+) \| ([a-z8/., -]+)(?:: [^|]+)? \|", section, re.MULTILINE):
        for verb in VERBS.intersection(verbs.split(", ")):
            for resource in resources.split(", "):
                yield verb, resource


class Rights(unittest.TestCase):
    def setUp(self):
        page = read("SECURITY.md")
        self.sections = {part.split("\n", 1)[0]: part for part in re.split(r"^##+ ", page, flags=re.MULTILINE)}
        self.accounts, self.roles = granted()

    maxDiff = None

    def check(self, names, heading, rights):
        of_page = set(listed(self.sections[heading]))
        self.assertEqual(sorted(rights - of_page), [], f"{names} may do this, and SECURITY.md does not say it")
        self.assertEqual(sorted(of_page - rights), [], f"SECURITY.md says this of {names}, and no manifest grants it")

    def test_the_tables_list_what_each_account_may(self):
        self.assertGreaterEqual(set(self.accounts), {"nervex-controller", "nervex-server", "nervex-webhook", "nervex-extender",
                                                     "nervex-scheduler", "nervex-certs"})
        of_section = {}
        for account, rights in self.accounts.items():
            if account.startswith("nervex-"):
                self.assertGreater(len(rights), 2, account)
                of_section.setdefault(SECTIONS.get(account, account), set()).update(rights)
        for heading, rights in sorted(of_section.items()):
            self.check(heading, heading, rights)

    def test_the_table_of_people_lists_what_they_may(self):
        rights = set().union(*self.roles.values(), self.accounts["system:authenticated"])
        self.assertEqual(set(self.roles), {"nervex-edit", "nervex-view"})
        self.check("users", "Rights of people", rights)


if __name__ == "__main__":
    unittest.main()
