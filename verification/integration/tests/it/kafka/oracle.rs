//! Messages by chance against a codec that was generated from Kafka's schemas: the same bytes in both directions.

use bytes::{Bytes, BytesMut};
use kafka_assigner_kafka::messages;
use kafka_assigner_kafka::wire::{
    ApiRequest, Decode, Encode, Sample, SampleSource, WireReader, WireVersion, WireWriter,
};
use kafka_assigner_strategies::kafka::wire::{ConsumerAssignment, ConsumerSubscription, TopicPartitions};
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

/// The answer whose table is older in the other codec: it lacks the name of the assignor, which Kafka 4.4's schemas have.
const BEHIND: (&str, i16) = ("StreamsGroupDescribe", 1);

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
        if (R::NAME, number) != BEHIND {
            agree::<R::Answer, A>(seed, R::version(number))?;
        }
    }
    Ok(())
}

/// Compares APIs, each by its request here, and its request and its answer there.
macro_rules! agree_on_each {
    ($seed:expr; $($ours:ident: $request:ident $answer:ident;)+) => {
        $( agree_on::<messages::$ours, kafka_wire::$request, kafka_wire::$answer>($seed)?; )+
        let done = [$( <messages::$ours as ApiRequest>::KEY ),+];
        prop_assert!(messages::APIS.iter().all(|api| done.contains(&api.key)), "an API is left out");
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn another_codec_reads_and_writes_the_same(seed in any::<u64>()) {
        agree_on_each! { seed;
            ApiVersionsRequest: ApiVersionsRequest ApiVersionsResponse;
            ConsumerGroupDescribeRequest: ConsumerGroupDescribeRequest ConsumerGroupDescribeResponse;
            ConsumerGroupHeartbeatRequest: ConsumerGroupHeartbeatRequest ConsumerGroupHeartbeatResponse;
            DescribeGroupsRequest: DescribeGroupsRequest DescribeGroupsResponse;
            DescribeShareGroupOffsetsRequest: DescribeShareGroupOffsetsRequest DescribeShareGroupOffsetsResponse;
            FetchRequest: FetchRequest FetchResponse;
            FindCoordinatorRequest: FindCoordinatorRequest FindCoordinatorResponse;
            JoinGroupRequest: JoinGroupRequest JoinGroupResponse;
            LeaveGroupRequest: LeaveGroupRequest LeaveGroupResponse;
            ListOffsetsRequest: ListOffsetsRequest ListOffsetsResponse;
            MetadataRequest: MetadataRequest MetadataResponse;
            OffsetCommitRequest: OffsetCommitRequest OffsetCommitResponse;
            OffsetFetchRequest: OffsetFetchRequest OffsetFetchResponse;
            OffsetForLeaderEpochRequest: OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse;
            SaslAuthenticateRequest: SaslAuthenticateRequest SaslAuthenticateResponse;
            SaslHandshakeRequest: SaslHandshakeRequest SaslHandshakeResponse;
            ShareGroupDescribeRequest: ShareGroupDescribeRequest ShareGroupDescribeResponse;
            StreamsGroupDescribeRequest: StreamsGroupDescribeRequest StreamsGroupDescribeResponse;
            SyncGroupRequest: SyncGroupRequest SyncGroupResponse;
            GroupHeartbeatRequest: HeartbeatRequest HeartbeatResponse;
            GroupListRequest: ListGroupsRequest ListGroupsResponse;
        }
    }
}

/// The formats that members of a group send each other, which have a writer of their own: read by the other codec and
/// written again they are the same bytes.
#[test]
fn another_codec_reads_and_writes_what_members_say() {
    let owned = || vec![TopicPartitions { topic: "t", partitions: vec![0, 1] }];
    for version in 0..=3 {
        let subscription = ConsumerSubscription {
            version,
            topics: vec!["t", "u"],
            user_data: Some(b"notes"),
            owned: owned(),
            generation: Some(4),
            rack: Some("a"),
        };
        let assignment = ConsumerAssignment { version, partitions: owned(), user_data: None };
        agree_behind_version::<kafka_wire::ConsumerProtocolSubscription>(&subscription.write());
        agree_behind_version::<kafka_wire::ConsumerProtocolAssignment>(&assignment.write());
    }
}

/// The version stands before the message, and belongs to neither codec.
fn agree_behind_version<O: KafkaDecode + KafkaEncode>(bytes: &[u8]) {
    let version = i16::from_be_bytes([bytes[0], bytes[1]]);
    let body = Bytes::copy_from_slice(&bytes[2..]);
    assert_eq!(theirs::<O>(&body, version), body, "version {version}");
}
