//! The workspace's packages and their dependencies, as cargo knows them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::run::workspace;

/// The packages of the workspace.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

/// A package and its own dependencies.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: String,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    /// The registries that it may go to: `None` = any, none = it is not published.
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as the manifest states it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The versions that it accepts; `*` where the manifest names none.
    pub(crate) req: String,
    /// `dev` or `build`; `None` = an ordinary dependency.
    pub(crate) kind: Option<String>,
    /// The folder of a dependency of the workspace.
    pub(crate) path: Option<String>,
}

impl Metadata {
    /// Asks cargo; no dependency is resolved or fetched.
    pub(crate) fn read() -> Result<Self> {
        let mut command = Command::new("cargo");
        command.args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(workspace());
        let output = command.output().context("failed to start cargo")?;
        ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The packages in `crates/`.
    pub(crate) fn shipping(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.ships())
    }
}

impl Package {
    /// True if the package is in `crates/`.
    pub(crate) fn ships(&self) -> bool {
        Path::new(&self.manifest_path).starts_with(workspace().join("crates"))
    }

    /// True if it may go to a registry.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

impl Dependency {
    /// True if it is one of the crates in `verification/`.
    pub(crate) fn verifies(&self) -> bool {
        self.path.as_ref().is_some_and(|path| Path::new(path).starts_with(workspace().join("verification")))
    }

    /// True for a dependency of tests, examples and benchmarks alone.
    pub(crate) fn is_of_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}
