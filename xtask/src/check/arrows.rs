//! Nothing that ships depends on what verifies it, and the leaves stay leaves.

use super::Finding;
use crate::metadata::{Dependency, Metadata, Package};

/// Crates that must build without these.
const FORBIDDEN: [(&str, &[&str]); 8] = [
    ("types", &["strategies", "core", "store", "proto", "server", "client", "router", "kafka"]),
    ("kafka", &["types", "strategies", "core", "store", "proto", "server", "client", "router"]),
    ("strategies", &["types", "core", "store", "proto", "server", "client", "router"]),
    ("store", &["strategies", "core", "proto", "server", "client"]),
    ("proto", &["strategies", "core", "store", "server", "client"]),
    ("handler", &["strategies", "core", "store", "proto", "server", "client", "router", "kafka"]),
    ("client", &["strategies", "core", "store", "server"]),
    ("router", &["strategies", "core", "store", "server"]),
];

fn is_forbidden(package: &Package, dependency: &Dependency) -> bool {
    let short = |name: &str| name.strip_prefix("kafka-assigner-").map(str::to_owned);
    let (Some(from), Some(to)) = (short(&package.name), short(&dependency.name)) else { return false };
    let rule = FORBIDDEN.iter().find(|(name, _)| *name == from);
    !dependency.is_of_tests() && rule.is_some_and(|(_, not)| not.contains(&to.as_str()))
}

fn judge(metadata: &Metadata) -> Vec<Finding> {
    let arrows = metadata.shipping().flat_map(|from| from.dependencies.iter().map(move |to| (from, to)));
    let wrong = arrows.filter(|(from, to)| to.verifies() || is_forbidden(from, to));
    wrong.map(|(from, to)| Finding::new(&from.name, format!("must not depend on {}", to.name))).collect()
}

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let findings = judge(metadata);
    println!("dependencies that point the wrong way {}", findings.len());
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::workspace;

    fn package(name: &str, dependency: Dependency) -> Metadata {
        let manifest = workspace().join("crates/x/Cargo.toml").to_string_lossy().into_owned();
        let package = Package {
            name: name.to_owned(),
            manifest_path: manifest,
            description: None,
            license: None,
            publish: None,
            dependencies: vec![dependency],
        };
        Metadata { packages: vec![package] }
    }

    fn on(name: &str, kind: Option<&str>, folder: &str) -> Dependency {
        let path = Some(workspace().join(folder).to_string_lossy().into_owned());
        Dependency { name: name.to_owned(), req: "*".to_owned(), kind: kind.map(str::to_owned), path }
    }

    #[test]
    fn what_ships_points_neither_out_nor_up() {
        let rig = package("kafka-assigner-store", on("kafka-assigner-rig", Some("dev"), "verification/rig"));
        let core = package("kafka-assigner-client", on("kafka-assigner-core", None, "crates/core"));
        let types = package("kafka-assigner-client", on("kafka-assigner-types", None, "crates/types"));
        assert_eq!((judge(&rig).len(), judge(&core).len(), judge(&types).len()), (1, 1, 0));
    }
}
