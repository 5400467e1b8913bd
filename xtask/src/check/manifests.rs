//! Every crate that ships can be packaged, and nothing else can be published.

use super::Finding;
use crate::metadata::{Dependency, Metadata, Package};

/// A sibling that a registry's copy would not find: cargo drops the path, and there is no version.
fn lacks_version(dependency: &Dependency) -> bool {
    dependency.path.is_some() && dependency.req == "*" && !dependency.is_of_tests()
}

fn judge_shipping(package: &Package) -> Vec<Finding> {
    let texts = [(&package.description, "description"), (&package.license, "license")];
    let missing = texts.into_iter().filter(|(text, _)| text.is_none());
    let mut findings: Vec<_> =
        missing.map(|(_, what)| Finding::new(&package.name, format!("has no {what}"))).collect();
    let unversioned = package.dependencies.iter().filter(|dependency| lacks_version(dependency));
    findings.extend(
        unversioned.map(|dependency| {
            Finding::new(&package.name, format!("names no version of {}", dependency.name))
        }),
    );
    findings
}

fn judge(metadata: &Metadata) -> Vec<Finding> {
    let mut findings: Vec<_> = metadata.shipping().flat_map(judge_shipping).collect();
    let others = metadata.packages.iter().filter(|package| !package.ships() && package.is_published());
    findings.extend(others.map(|package| Finding::new(&package.name, "does not say `publish = false`")));
    findings
}

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    println!("packages {}, of which ship {}", metadata.packages.len(), metadata.shipping().count());
    judge(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::workspace;

    fn package(folder: &str, req: &str, kind: Option<&str>) -> Package {
        let sibling = Dependency {
            name: "kafka-assigner-types".to_owned(),
            req: req.to_owned(),
            kind: kind.map(str::to_owned),
            path: Some("/crates/types".to_owned()),
        };
        Package {
            name: "x".to_owned(),
            manifest_path: workspace().join(folder).join("Cargo.toml").display().to_string(),
            description: Some("An x".to_owned()),
            license: Some("MIT".to_owned()),
            publish: None,
            dependencies: vec![sibling],
        }
    }

    fn findings(package: Package) -> usize {
        judge(&Metadata { packages: vec![package] }).len()
    }

    #[test]
    fn a_crate_that_ships_has_what_a_registry_asks_for() {
        let package = |req, kind| package("crates/x", req, kind);
        assert_eq!(findings(package("^0.1.0", None)), 0);
        assert_eq!(findings(package("*", Some("dev"))), 0, "cargo leaves it out");
        assert_eq!(findings(package("*", None)), 1);
        assert_eq!(findings(Package { description: None, license: None, ..package("^0.1.0", None) }), 2);
    }

    #[test]
    fn nothing_else_can_be_published() {
        let package = || package("verification/x", "*", None);
        assert_eq!(findings(package()), 1);
        assert_eq!(findings(Package { publish: Some(Vec::new()), ..package() }), 0);
    }
}
