//! Compiles the definitions with a compiler in Rust, so that nobody needs `protoc`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

const FILES: [&str; 3] = [
    "proto/kafka_assigner/v1/consumer.proto",
    "proto/kafka_assigner/v1/routing.proto",
    "proto/kafka_assigner/v1/admin.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
