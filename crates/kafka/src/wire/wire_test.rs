//! Written messages are read again, and nothing else is read as if it were there.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::messages::{
    APIS, ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, DescribeGroupsRequest, DescribeShareGroupOffsetsRequest, FetchRequest,
    FindCoordinatorRequest, GroupHeartbeatRequest, GroupListRequest, HeartbeatAssignment, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, ListOffsetsRequest, MetadataRequest, MetadataResponse,
    OffsetCommitRequest, OffsetFetchRequest, OffsetForLeaderEpochRequest, SaslAuthenticateRequest,
    SaslHandshakeRequest, ShareGroupDescribeRequest, StreamsGroupDescribeRequest, SyncGroupRequest,
};

/// Does the same with every API.
macro_rules! with_each_api {
    ($do:ident, $seed:expr) => {
        with_each_api! { $do, $seed,
            ApiVersionsRequest ConsumerGroupDescribeRequest ConsumerGroupHeartbeatRequest DescribeGroupsRequest
            DescribeShareGroupOffsetsRequest FetchRequest FindCoordinatorRequest GroupHeartbeatRequest GroupListRequest
            JoinGroupRequest LeaveGroupRequest ListOffsetsRequest MetadataRequest OffsetCommitRequest OffsetFetchRequest
            OffsetForLeaderEpochRequest SaslAuthenticateRequest SaslHandshakeRequest ShareGroupDescribeRequest
            StreamsGroupDescribeRequest SyncGroupRequest
        }
    };
    ($do:ident, $seed:expr, $($request:ident)+) => {
        let done = [$( { $do::<$request>($seed)?; <$request as ApiRequest>::KEY } ),+];
        prop_assert!(APIS.iter().all(|api| done.contains(&api.key)), "an API is left out");
    };
}

/// Every message, in every version, there and back; then cut short at every byte.
fn survives<R>(seed: u64) -> Result<(), TestCaseError>
where
    R: ApiRequest + Decode + Sample + PartialEq + std::fmt::Debug,
    R::Answer: Encode + Sample + PartialEq + std::fmt::Debug,
{
    let mut source = SampleSource::new(seed);
    for number in R::VERSIONS.first..=R::VERSIONS.last {
        let version = R::version(number);
        let (request, answer) = (R::sample(&mut source, version), R::Answer::sample(&mut source, version));
        let asked = Bytes::from(request_frame(&request, number, 5, "me").unwrap()).split_off(4);
        let (header, read) = read_request::<R>(&asked).unwrap();
        prop_assert_eq!((header.key, header.version, header.correlation), (R::KEY, number, 5));
        prop_assert_eq!(read, request);
        let frame = Bytes::from(answer_frame::<R>(&answer, number, 5).unwrap()).split_off(4);
        prop_assert_eq!(&read_answer::<R>(&frame, number, 5).unwrap(), &answer);
        // A long answer is cut at some bytes only.
        let step = 1 + frame.len() / 64;
        for end in (0..frame.len()).skip(source.below(step as u64) as usize).step_by(step) {
            prop_assert!(read_answer::<R>(&frame.slice(..end), number, 5).is_err(), "cut at {}", end);
        }
        let longer = Bytes::from([&frame[..], &[0]].concat());
        prop_assert_eq!(read_answer::<R>(&longer, number, 5).unwrap_err(), CodecError::Rest(1));
    }
    Ok(())
}

/// Flips, and lengths that are not there, end in a value or an error, never in a panic.
fn endures<R: ApiRequest>(seed: u64) -> Result<(), TestCaseError>
where
    R::Answer: Encode + Sample,
{
    let mut source = SampleSource::new(seed);
    for number in R::VERSIONS.first..=R::VERSIONS.last {
        let answer = R::Answer::sample(&mut source, R::version(number));
        let mut frame = answer_frame::<R>(&answer, number, 5).unwrap().split_off(4);
        for _ in 0..3 {
            let at = source.below(frame.len() as u64) as usize;
            frame[at] = source.number().to_le_bytes()[0];
        }
        let _either = read_answer::<R>(&frame.into(), number, 5);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(seed in any::<u64>()) {
        with_each_api!(survives, seed);
    }

    #[test]
    fn damaged_answers_are_endured(seed in any::<u64>()) {
        with_each_api!(endures, seed);
    }

    #[test]
    fn any_bytes_are_endured(bytes in proptest::collection::vec(any::<u8>(), 0..400), version in 0_i16..=13) {
        let bytes = Bytes::from(bytes);
        let _either = read_answer::<MetadataRequest>(&bytes, version, 0);
        let _either = read_answer::<JoinGroupRequest>(&bytes, version, 0);
        let _either = read_answer::<FetchRequest>(&bytes, version, 0);
    }

    #[test]
    fn numbers_of_variable_length_are_as_kafka_has_them(number in any::<u32>()) {
        let mut writer = WireWriter::default();
        writer.unsigned_varint(number);
        let bytes = Bytes::from(writer.into_bytes());
        prop_assert!(bytes.len() <= 5);
        prop_assert_eq!(WireReader::new(&bytes).unsigned_varint(), Ok(number));
    }
}

const RIGID: WireVersion = WireVersion { number: 0, flexible: false };
const FLEXIBLE: WireVersion = WireVersion { number: 9, flexible: true };

#[test]
fn a_number_of_variable_length_ends_with_its_fifth_byte() {
    let read = |bytes: &'static [u8]| WireReader::new(&Bytes::from_static(bytes)).unsigned_varint();
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x8f]), Err(CodecError::Varint));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x10]), Err(CodecError::Varint));
    assert_eq!(read(&[0x80]), Err(CodecError::TooShort));
}

#[test]
fn a_list_that_cannot_be_there_is_refused_before_it_is_read() {
    let huge = Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let refused = WireReader::new(&huge).list::<i8>(RIGID);
    assert_eq!(refused, Err(CodecError::TooShort));
    // Five bytes are there, and two items of three bytes are announced.
    let two = Bytes::from_static(&[0, 0, 0, 2, 0, 0, 0, 0, 0]);
    assert_eq!(WireReader::new(&two).list::<i32>(RIGID), Err(CodecError::TooShort));
    let compact = Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
    assert_eq!(WireReader::new(&compact).list::<String>(FLEXIBLE), Err(CodecError::TooShort));
}

#[test]
fn negative_lengths_but_minus_one_are_refused() {
    let read = |length: i32| WireReader::new(&Bytes::from(length.to_be_bytes().to_vec())).list::<i32>(RIGID);
    assert_eq!(read(-1), Ok(None));
    assert_eq!(read(-2), Err(CodecError::TooShort));
    assert_eq!(read(i32::MIN), Err(CodecError::TooShort));
}

#[test]
fn the_least_size_of_a_struct_follows_from_its_table() {
    let (rigid, flexible) = (MetadataRequest::version(8), MetadataRequest::version(12));
    // Throttle, brokers, cluster id, controller, topics, operations.
    assert_eq!(MetadataResponse::least(rigid), 4 + 4 + 2 + 4 + 4 + 4);
    assert_eq!(MetadataResponse::least(flexible), 4 + 1 + 1 + 4 + 1 + 1);
}

#[test]
fn tagged_fields_are_in_order_and_used_up() {
    let read = |bytes: &'static [u8]| {
        let bytes = Bytes::from_static(bytes);
        let mut reader = WireReader::new(&bytes);
        reader.tags(|tag, part| if tag == 1 { part.take(1).map(|_| true) } else { Ok(false) })
    };
    assert_eq!(read(&[2, 1, 1, 9, 7, 2, 9, 9]), Ok(()));
    assert_eq!(read(&[1, 1, 2, 9, 9]), Err(CodecError::Rest(1)));
    assert_eq!(read(&[2, 7, 0, 1, 1, 9]), Err(CodecError::Tags));
    assert_eq!(read(&[2, 7, 0, 7, 0]), Err(CodecError::Tags));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Err(CodecError::TooShort));
}

#[test]
fn what_a_version_cannot_say_is_not_left_out() {
    let of_all = |version| request_frame(&MetadataRequest::of_names(["t"]), version, 0, "me");
    let (field, version) = ("allow_auto_topic_creation", 3);
    assert_eq!(of_all(3), Err(CodecError::NotInVersion { field, version }), "the broker would create topics");
    assert!(of_all(4).is_ok());
    let everything = MetadataRequest { topics: None, ..MetadataRequest::default() };
    assert_eq!(request_frame(&everything, 0, 0, "me"), Err(CodecError::Null));
    assert!(request_frame(&everything, 1, 0, "me").is_ok());
}

#[test]
fn a_null_is_read_only_where_it_may_be() {
    let mut answer = MetadataResponse::default();
    answer.topics.push(Default::default());
    answer.topics[0].name = None;
    assert_eq!(answer_frame::<MetadataRequest>(&answer, 11, 0), Err(CodecError::Null));
    let frame = Bytes::from(answer_frame::<MetadataRequest>(&answer, 12, 0).unwrap()).split_off(4);
    assert_eq!(read_answer::<MetadataRequest>(&frame, 12, 0), Ok(answer));
    // The same bytes in the version before.
    assert_eq!(read_answer::<MetadataRequest>(&frame, 11, 0), Err(CodecError::Null));
}

#[test]
fn a_struct_that_is_null_takes_one_byte() {
    let (version, heartbeat) = (1, ConsumerGroupHeartbeatResponse::default());
    let frame =
        |answer: &_| answer_frame::<ConsumerGroupHeartbeatRequest>(answer, version, 0).unwrap().split_off(4);
    let (none, empty) = (frame(&heartbeat), HeartbeatAssignment::default());
    let some = frame(&ConsumerGroupHeartbeatResponse { assignment: Some(empty), ..heartbeat });
    // The byte that says so, an empty list, no tags of the assignment, and none of the message.
    assert_eq!((&none[none.len() - 2..], &some[some.len() - 4..]), (&[0xff, 0][..], &[1, 1, 0, 0][..]));
    assert_eq!(<Option<HeartbeatAssignment> as WireType>::least(FLEXIBLE), 1);
}

#[test]
fn what_may_be_left_out_is_left_out() {
    let reason = Some("because".to_owned());
    let asked = JoinGroupRequest { reason, ..JoinGroupRequest::default() };
    let read = |version| {
        read_request::<JoinGroupRequest>(
            &Bytes::from(request_frame(&asked, version, 0, "me").unwrap()).split_off(4),
        )
    };
    assert_eq!((read(7).unwrap().1.reason, read(8).unwrap().1), (None, asked.clone()));
}

#[test]
fn a_join_with_two_thousand_million_members_is_refused() {
    // No throttling, no error, generation 1, a strategy, a leader, an id; then the number of members.
    let body = [
        &[0; 4][..],
        &[0, 0],
        &[0, 0, 0, 1],
        &[0, 1, b'r'],
        &[0, 1, b'l'],
        &[0, 1, b'm'],
        &i32::MAX.to_be_bytes(),
        &[0; 60],
    ];
    let frame = Bytes::from([&[0, 0, 0, 5][..], &body.concat()].concat());
    assert_eq!(
        read_answer::<JoinGroupRequest>(&frame, 5, 5),
        Err::<JoinGroupResponse, _>(CodecError::TooShort)
    );
}

#[test]
fn an_answer_to_something_else_is_refused() {
    let frame = answer_frame::<MetadataRequest>(&MetadataResponse::default(), 12, 6).unwrap().split_off(4);
    let refused = read_answer::<MetadataRequest>(&frame.into(), 12, 5);
    assert_eq!(refused, Err(CodecError::Correlation { asked: 5, answered: 6 }));
}

#[test]
fn no_byte_of_a_password_is_shown() {
    let request = SaslAuthenticateRequest { auth_bytes: Blob(Bytes::from_static(b"hunter2")) };
    let shown = format!("{request:?} {request:#?}");
    assert!(shown.contains("7 bytes") && !shown.contains("104") && !shown.contains("hunter"), "{shown}");
}
