//! Messages by chance against a codec that was generated from Kafka's schemas: the same bytes in both directions.

use bytes::{Bytes, BytesMut};
use kafka_assigner_kafka::messages::{
    ApiVersionsRequest, MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest,
};
use kafka_assigner_kafka::wire::{
    ApiRequest, Decode, Encode, Sample, SampleSource, WireReader, WireVersion, WireWriter,
};
use kafka_wire_core::{ApiVersion, DecodeLimits, Decoder, Encoder, KafkaDecode, KafkaEncode};
use proptest::prelude::*;

fn ours<T: Encode>(value: &T, version: WireVersion) -> Bytes {
    let mut writer = WireWriter::default();
    value.encode(&mut writer, version).expect("the sample fits the version");
    writer.into_bytes().into()
}

/// The bytes that the other codec writes after it has read these.
fn theirs<O: KafkaDecode + KafkaEncode>(bytes: &Bytes, version: i16) -> Bytes {
    let version = ApiVersion::new(version);
    let mut decoder = Decoder::new(bytes.clone(), DecodeLimits::default()).expect("it is short");
    let value = O::decode(&mut decoder, version).expect("it is read by the other codec");
    decoder.finish().expect("it is read to its end");
    let mut written = BytesMut::new();
    value.encode(&mut Encoder::new(&mut written), version).expect("it is written again");
    written.freeze()
}

fn agree<T, O>(seed: u64, version: WireVersion) -> Result<(), TestCaseError>
where
    T: Encode + Decode + Sample + PartialEq + std::fmt::Debug,
    O: KafkaDecode + KafkaEncode,
{
    let value = T::sample(&mut SampleSource::new(seed), version);
    let (written, again) = (ours(&value, version), theirs::<O>(&ours(&value, version), version.number));
    prop_assert_eq!(&written, &again);
    let mut reader = WireReader::new(&again);
    prop_assert_eq!(T::decode(&mut reader, version).expect("it is read"), value);
    prop_assert_eq!(reader.left(), 0);
    Ok(())
}

/// Both messages of an API, in all versions.
fn agree_on<R, O, A>(seed: u64) -> Result<(), TestCaseError>
where
    R: ApiRequest + Decode + Sample + PartialEq + std::fmt::Debug,
    R::Answer: Encode + Sample + PartialEq + std::fmt::Debug,
    O: KafkaDecode + KafkaEncode,
    A: KafkaDecode + KafkaEncode,
{
    for number in R::VERSIONS.first..=R::VERSIONS.last {
        agree::<R, O>(seed, R::version(number))?;
        agree::<R::Answer, A>(seed, R::version(number))?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn another_codec_reads_and_writes_the_same(seed in any::<u64>()) {
        agree_on::<MetadataRequest, kafka_wire::MetadataRequest, kafka_wire::MetadataResponse>(seed)?;
        agree_on::<ApiVersionsRequest, kafka_wire::ApiVersionsRequest, kafka_wire::ApiVersionsResponse>(seed)?;
        agree_on::<SaslHandshakeRequest, kafka_wire::SaslHandshakeRequest, kafka_wire::SaslHandshakeResponse>(seed)?;
        agree_on::<SaslAuthenticateRequest, kafka_wire::SaslAuthenticateRequest, kafka_wire::SaslAuthenticateResponse>(seed)?;
    }
}
