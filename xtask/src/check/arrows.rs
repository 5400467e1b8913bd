//! Nothing that ships depends on what verifies it, and the leaves stay leaves.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::Finding;
use crate::run::workspace;

/// Crates that must build without these.
const FORBIDDEN: [(&str, &[&str]); 6] = [
    ("types", &["strategies", "core", "store", "proto", "server", "client", "router"]),
    ("strategies", &["types", "core", "store", "proto", "server", "client", "router"]),
    ("store", &["strategies", "core", "proto", "server", "client"]),
    ("proto", &["strategies", "core", "store", "server", "client"]),
    ("client", &["strategies", "core", "store", "server"]),
    ("router", &["strategies", "core", "store", "server"]),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<String>,
}

fn metadata() -> Result<Metadata> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(workspace());
    let output = command.output().context("failed to start cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A dependency of any kind on a verification crate.
fn points_out(dependency: &Dependency) -> bool {
    let verification = workspace().join("verification");
    dependency.path.as_ref().is_some_and(|path| path.starts_with(&*verification.to_string_lossy()))
}

fn is_forbidden(package: &Package, dependency: &Dependency) -> bool {
    let short = |name: &str| name.strip_prefix("kafka-assigner-").map(str::to_owned);
    let (Some(from), Some(to)) = (short(&package.name), short(&dependency.name)) else { return false };
    let rule = FORBIDDEN.iter().find(|(name, _)| *name == from);
    dependency.kind.as_deref() != Some("dev") && rule.is_some_and(|(_, not)| not.contains(&to.as_str()))
}

fn judge(metadata: &Metadata) -> Vec<Finding> {
    let crates = workspace().join("crates");
    let ships = |package: &&Package| package.manifest_path.starts_with(&*crates.to_string_lossy());
    let arrows = metadata.packages.iter().filter(ships);
    let arrows = arrows.flat_map(|package| package.dependencies.iter().map(move |to| (package, to)));
    let wrong = arrows.filter(|(from, to)| points_out(to) || is_forbidden(from, to));
    wrong.map(|(from, to)| Finding::new(&from.name, format!("must not depend on {}", to.name))).collect()
}

pub(super) fn check() -> Result<Vec<Finding>> {
    let metadata = metadata()?;
    let findings = judge(&metadata);
    println!("packages {}, arrows that point the wrong way {}", metadata.packages.len(), findings.len());
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependency: Dependency) -> Metadata {
        let manifest = workspace().join("crates/x/Cargo.toml").to_string_lossy().into_owned();
        let package =
            Package { name: name.to_owned(), manifest_path: manifest, dependencies: vec![dependency] };
        Metadata { packages: vec![package] }
    }

    fn on(name: &str, kind: Option<&str>, folder: &str) -> Dependency {
        let path = Some(workspace().join(folder).to_string_lossy().into_owned());
        Dependency { name: name.to_owned(), kind: kind.map(str::to_owned), path }
    }

    #[test]
    fn what_ships_points_neither_out_nor_up() {
        let rig = package("kafka-assigner-store", on("kafka-assigner-rig", Some("dev"), "verification/rig"));
        let core = package("kafka-assigner-client", on("kafka-assigner-core", None, "crates/core"));
        let types = package("kafka-assigner-client", on("kafka-assigner-types", None, "crates/types"));
        assert_eq!((judge(&rig).len(), judge(&core).len(), judge(&types).len()), (1, 1, 0));
    }
}
