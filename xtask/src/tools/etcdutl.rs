//! etcdutl, which works on etcd's data while no etcd runs.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::cache::Entry;
use super::etcd::build_part;
use super::search::on_path;
use crate::interrupt::Interrupt;

/// A program `etcdutl` that runs on this machine.
#[derive(Debug)]
pub(crate) struct Etcdutl {
    /// The path of the program.
    pub(crate) binary: PathBuf,
}

impl Etcdutl {
    /// Finds it, or builds it as etcd is built.
    pub(crate) fn provide(interrupt: &Interrupt) -> Result<Self> {
        let named = std::env::var_os("ETCDUTL_BIN").map(PathBuf::from).or_else(|| on_path("etcdutl"));
        let cached = || Entry::new("etcdutl-3.7.3").existing().map(|folder| folder.join("etcdutl"));
        match named.or_else(cached) {
            Some(binary) => Ok(Self { binary }),
            None => {
                build(interrupt).context("no etcdutl: set ETCDUTL_BIN to one of 3.6 or newer, or install Go")
            }
        }
    }
}

fn build(interrupt: &Interrupt) -> Result<Etcdutl> {
    let folder =
        build_part(&Entry::new("etcdutl-3.7.3"), "etcdutl", "go.etcd.io/etcd/etcdutl/v3", interrupt)?;
    Ok(Etcdutl { binary: folder.join("etcdutl") })
}
