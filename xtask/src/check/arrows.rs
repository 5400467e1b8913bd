//! Nothing that ships depends on what verifies it, and the leaves stay leaves.

use super::Finding;
use crate::metadata::{Dependency, Metadata, Package};

/// The crates that ship, leaves first, each with those of ours that it may depend on. What one reaches in all follows from the
/// rows: who links a client or a router gets neither the planner nor the store.
const ALLOWED: [(&str, &[&str]); 18] = [
    ("types", &[]),
    ("strategies", &[]),
    ("kafka", &[]),
    ("proto", &[]),
    ("access", &["types"]),
    ("handler", &["types"]),
    ("store", &["types"]),
    ("core", &["strategies", "types"]),
    ("session", &["proto", "types"]),
    ("client", &["handler", "proto", "session", "types"]),
    ("router", &["proto", "session", "types"]),
    ("group-member", &["kafka", "strategies", "types"]),
    ("native-consumer", &["group-member", "kafka", "types"]),
    ("server", &["access", "core", "kafka", "proto", "store", "strategies", "types"]),
    ("audit", &["core", "store", "types"]),
    ("writer", &["audit", "client", "router", "types"]),
    ("demo", &["audit", "client", "core", "kafka", "router", "server", "store", "types", "writer"]),
    ("cli", &["access", "core", "demo", "kafka", "proto", "server", "store", "strategies", "types"]),
];

/// The short name of one of our packages.
fn short(name: &str) -> Option<&str> {
    name.strip_prefix("kafka-assigner-")
}

fn is_forbidden(package: &Package, dependency: &Dependency) -> bool {
    let (Some(from), Some(to)) = (short(&package.name), short(&dependency.name)) else { return false };
    let rule = ALLOWED.iter().find(|(name, _)| *name == from);
    !dependency.is_of_tests() && rule.is_none_or(|(_, allowed)| !allowed.contains(&to))
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
        let upwards = package("kafka-assigner-core", on("kafka-assigner-store", None, "crates/store"));
        let unknown = package("kafka-assigner-new", on("kafka-assigner-types", None, "crates/types"));
        assert_eq!((judge(&upwards).len(), judge(&unknown).len()), (1, 1));
    }
}
