//! The code that is generated from protobuf definitions is checked in, so that a build needs no compiler for them; here it
//! is compared with what they say. It is compiled in Rust, so that nobody needs `protoc`.

use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;

use crate::run::workspace;

/// Set to anything, it has the files written anew in place of a comparison.
const REFRESH: &str = "KAFKA_ASSIGNER_REFRESH_GENERATED";

/// The files that one set of definitions is made into, each with its content.
type Files = Vec<(PathBuf, Vec<u8>)>;

fn ours() -> Files {
    let package = workspace().join("crates/proto");
    let include = package.join("proto");
    let definitions = ["consumer", "routing", "admin"]
        .map(|name| include.join("kafka_assigner/v1").join(name).with_extension("proto"));
    let descriptors = protox::compile(definitions, [&include]).expect("valid definitions");
    let folder = package.join("src/generated");
    let mut files = vec![(folder.join("descriptors.bin"), descriptors.encode_to_vec())];
    let code = |out: &Path| tonic_prost_build::configure().out_dir(out).compile_fds(descriptors);
    files.push(generate(&folder, "kafka_assigner.v1.rs", code));
    files
}

fn etcd() -> Files {
    let package = workspace().join("crates/store");
    let include = package.join("proto");
    let descriptors = protox::compile([include.join("etcd.proto")], [&include]).expect("valid definitions");
    let code = |out: &Path| {
        let builder = tonic_prost_build::configure().build_server(false).bytes(".");
        builder.out_dir(out).compile_fds(descriptors)
    };
    vec![generate(&package.join("src/etcd/generated"), "etcdserverpb.rs", code)]
}

fn generate(
    folder: &Path,
    name: &str,
    code: impl FnOnce(&Path) -> std::io::Result<()>,
) -> (PathBuf, Vec<u8>) {
    let out = tempfile::tempdir().expect("a temporary folder");
    code(out.path()).expect("code");
    (folder.join(name), fs::read(out.path().join(name)).expect("the code of the only package"))
}

#[test]
fn generated_code_is_what_its_definitions_say() {
    for (path, content) in [ours(), etcd()].concat() {
        if std::env::var_os(REFRESH).is_some() {
            fs::write(&path, content).expect("written");
            continue;
        }
        assert!(
            fs::read(&path).is_ok_and(|found| found == content),
            "{} is not what its definition says. Refresh it with: {REFRESH}=1 cargo test -p xtask generated",
            path.display()
        );
    }
}
