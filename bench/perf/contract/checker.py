"""The yardstick: reads every YAML document of a tree once with PyYAML, indexes
the Services, and compares them with the contract in the plainest way."""

import os
import sys

import yaml


def documents(root, loader):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".yaml", ".yml")):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    yield from yaml.load_all(f, Loader=loader)


def main(argv):
    loader = yaml.SafeLoader
    if argv[1:2] == ["--libyaml"]:
        loader = yaml.CSafeLoader
        argv = argv[:1] + argv[2:]
    root = argv[1]
    services = {}
    for doc in documents(os.path.join(root, "apps"), loader):
        if isinstance(doc, dict) and doc.get("kind") == "Service":
            meta = doc["metadata"]
            services[(meta.get("namespace"), meta["name"])] = doc["spec"]
    with open(os.path.join(root, "contract", "endpoints.yaml"), encoding="utf-8") as f:
        contract = yaml.load(f, Loader=loader)
    wrong = 0
    promised = set()
    for e in contract["endpoints"]:
        key = (e["namespace"], e["service"])
        door = (e["namespace"], e["service"] + "-nodeport")
        promised.add(door)
        wrong += key not in services or services.get(door, {}).get("type") != "NodePort"
    wrong += sum(1 for k, s in services.items() if s.get("type") == "NodePort" and k not in promised)
    print(f"{len(services)} Services, {wrong} findings")
    return 1 if wrong else 0


sys.exit(main(sys.argv))
