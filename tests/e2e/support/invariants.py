"""Rules that hold at every moment: a gang never runs in part, capacity is never given twice, nothing is orphaned.

An observer keeps its findings in a `Broken`. A test that fails after one was found has the JUnit property
`invariant`: it is no race of the test, and continuous integration gives it no second try (tools/ci)."""

_found = []


class Broken(list):
    """A sentence for each broken rule; empty is good."""

    def __init__(self, sentences=()):
        super().__init__()
        for sentence in sentences:
            self.append(sentence)

    def append(self, sentence):
        _found.append(sentence)
        super().append(sentence)


def begin_test():
    _found.clear()


def found():
    """The sentences since begin_test()."""
    return list(_found)
