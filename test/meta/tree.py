"""The files of the source tree, for the rules in this folder."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files(under="", suffixes=None):
    """Paths relative to the root, sorted; build trees and hidden folders are not sources."""
    found = []
    for folder, subfolders, names in os.walk(os.path.join(ROOT, under)):
        subfolders[:] = [name for name in subfolders
                         if name not in (".git", ".cache", ".vscode", "build", "__pycache__")
                         and not os.path.exists(os.path.join(folder, name, "CMakeCache.txt"))]
        for name in names:
            if suffixes is None or name.endswith(tuple(suffixes)):
                found.append(os.path.relpath(os.path.join(folder, name), ROOT))
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()
