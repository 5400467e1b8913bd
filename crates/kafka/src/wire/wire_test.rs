//! Written messages are read again, and nothing else is read as if it were there.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::messages::{
    ApiVersionsRequest, MetadataRequest, MetadataResponse, SaslAuthenticateRequest, SaslHandshakeRequest,
};

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
        for end in 0..frame.len() {
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
    #[test]
    fn what_is_written_is_read_again(seed in any::<u64>()) {
        survives::<MetadataRequest>(seed)?;
        survives::<ApiVersionsRequest>(seed)?;
        survives::<SaslHandshakeRequest>(seed)?;
        survives::<SaslAuthenticateRequest>(seed)?;
    }

    #[test]
    fn damaged_answers_are_endured(seed in any::<u64>()) {
        endures::<MetadataRequest>(seed)?;
        endures::<ApiVersionsRequest>(seed)?;
        endures::<SaslHandshakeRequest>(seed)?;
        endures::<SaslAuthenticateRequest>(seed)?;
    }

    #[test]
    fn any_bytes_are_endured(bytes in proptest::collection::vec(any::<u8>(), 0..400), version in 0_i16..=13) {
        let _either = read_answer::<MetadataRequest>(&bytes.into(), version, 0);
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
