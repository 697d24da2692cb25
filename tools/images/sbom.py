"""What is in an image, as SPDX 2.3 in JSON: our program, the Debian package of each file with version and source
package, and the libraries that are compiled into the program."""

import hashlib
import json
import re

from tools.images import debian, files, oci, suite


def _id(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _package(name, version, **more):
    return {"SPDXID": _id("Package", name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more}


def _debian(package):
    return _package(
        package.name, package.version, supplier="Organization: Debian",
        sourceInfo=f"built from {package.source} {package.source_version}",
        externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": package.purl}],
        **({"homepage": package.homepage} if package.homepage else {}))


def document(image, digest, release, name, httplib):
    """`digest`: of the image's manifest. `httplib`: version of cpp-httplib, which is in no Debian package of the
    machine; None if the image does not contain it."""
    found = sorted((one for one in files.with_parents(image.entries) if isinstance(one, files.File)), key=lambda one: one.path)
    owners = suite.sources(image, release.architecture.sysroot)
    verification = hashlib.sha1("".join(sorted(one.sha1 for one in found)).encode()).hexdigest()
    top = _package(name, release.version, licenseDeclared="Apache-2.0", primaryPackagePurpose="CONTAINER",
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}])
    top.update(filesAnalyzed=True, packageVerificationCode={"packageVerificationCodeValue": verification})
    packages = {one.name: one for one in owners.values()}
    built_in = []
    if httplib:
        linked = suite.BUILT_IN + suite.BUILT_IN_ALSO.get(name, ())
        built_in = [_debian(one) for one in debian.packages(linked, release.architecture.sysroot).values()]
        built_in.append(_package("cpp-httplib", httplib, supplier="Organization: Debian", externalRefs=[{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/cpp-httplib@{httplib.replace('+', '%2B')}?arch=source"}]))
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", top["SPDXID"])]
    relationships += [(top["SPDXID"], "CONTAINS", _id("Package", one)) for one in sorted(packages)]
    relationships += [(top["SPDXID"], "STATIC_LINK", one["SPDXID"]) for one in built_in]
    for one in found:
        relationships.append((top["SPDXID"], "CONTAINS", _id("File", one.path)))
        if one.path in owners:
            relationships.append((_id("File", one.path), "GENERATED_FROM", _id("Package", owners[one.path].name)))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{release.version}-{image.architecture}",
        "documentNamespace": f"urn:nervex:sbom:{name}:{release.version}:{image.architecture}:{digest}",
        "creationInfo": {"created": oci.timestamp(release.epoch), "creators": ["Tool: nervex-scripts-images"]},
        "packages": [top, *(_debian(packages[one]) for one in sorted(packages)), *built_in],
        "files": [{"SPDXID": _id("File", one.path), "fileName": f"./{one.path}", "licenseConcluded": "NOASSERTION",
                   "copyrightText": "NOASSERTION",
                   "checksums": [{"algorithm": "SHA1", "checksumValue": one.sha1},
                                 {"algorithm": "SHA256", "checksumValue": one.sha256}]} for one in found],
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relationships],
    }


def text(found):
    return json.dumps(found, indent=1, sort_keys=True) + "\n"
