"""What a release consists of, made from a tree that says it is one.

    checks     may this tree be released as that version?
    changelog  the section of a version
    contents   the files: images, manifests, the chart, the CLI, checksums
"""
