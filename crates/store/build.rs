//! Compiles our cut of etcd's API with a compiler in Rust, so that nobody needs `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    #[cfg(feature = "etcd")]
    tonic_prost_build::configure()
        .build_server(false)
        .bytes(".")
        .compile_fds(protox::compile(["proto/etcd.proto"], ["proto"])?)?;
    Ok(())
}
